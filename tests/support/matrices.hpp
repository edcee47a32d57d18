// SPDX-License-Identifier: Apache-2.0
// Matrices in device memory and as the oracle knows them.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/reference/matrix.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/formats.hpp"

/// The spacing of FP32 numbers between 1 and 2, halved: the largest relative error of one rounding.
inline constexpr double float_rounding = 0x1p-24;

/// How far rounding to a type may move a number.
inline double rounding_of(syclamp::element_type type, double value) {
  return reference::half_spacing(value, format_of(type));
}

/// Words of device memory that hold elements of a type which is known at run time only.
class typed_buffer {
 public:
  typed_buffer(const sycl::queue& queue, syclamp::element_type type, const std::vector<std::uint64_t>& patterns,
               std::size_t offset = 0)
      : type_(type),
        narrow_(queue, convert<std::uint16_t>(bytes_per_element(type) == 2, patterns), offset),
        wide_(queue, convert<std::uint32_t>(bytes_per_element(type) == 4, patterns), offset) {}

  void* data() const { return bytes_per_element(type_) == 2 ? static_cast<void*>(narrow_.data()) : wide_.data(); }
  syclamp::element_type type() const { return type_; }
  std::vector<std::uint64_t> patterns() const {
    const auto narrow = narrow_.read();
    const auto wide = wide_.read();
    std::vector<std::uint64_t> all(narrow.begin(), narrow.end());
    all.insert(all.end(), wide.begin(), wide.end());
    return all;
  }
  std::vector<double> values() const {
    std::vector<double> all;
    for (const auto pattern : patterns()) all.push_back(reference::decode(pattern, format_of(type_)).value);
    return all;
  }
  bool canaries_are_alive() const { return narrow_.canaries_are_alive() && wide_.canaries_are_alive(); }

 private:
  template <typename T>
  static std::vector<T> convert(bool wanted, const std::vector<std::uint64_t>& patterns) {
    std::vector<T> all;
    if (wanted)
      for (const auto pattern : patterns) all.push_back(static_cast<T>(pattern));
    return all;
  }

  syclamp::element_type type_;
  device_buffer<std::uint16_t> narrow_;
  device_buffer<std::uint32_t> wide_;
};

/// Numbers between -`largest` and `largest`, as a type can hold them.
inline std::vector<std::uint64_t> random_patterns(syclamp::element_type type, std::size_t count, std::uint32_t seed,
                                                  double largest = 1.0) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-largest, largest);
  std::vector<std::uint64_t> patterns(count);
  for (auto& entry : patterns) entry = reference::encode(uniform(random), format_of(type));
  return patterns;
}

/// The gap by which rows of 16-bit elements begin at multiples of 16 bytes, so that kernels access packs of 8 lanes. It
/// is never 0, so that NaNs follow each row.
constexpr std::size_t gap_for_packs(std::size_t columns) { return 16 - columns % 8; }

/// A matrix with gaps between its rows, which hold NaNs. Elements begin at `offset` from an aligned address.
class device_matrix {
 public:
  device_matrix(const syclamp::engine& engine, syclamp::element_type type, std::size_t rows, std::size_t columns,
                std::uint32_t seed, std::size_t gap = 0, std::size_t offset = 0, bool all_nan = false)
      : rows_(rows),
        columns_(columns),
        stride_(columns + gap),
        memory_(engine.queue(), type, image(type, seed, all_nan), offset) {}

  syclamp::matrix::matrix_view view() const { return {memory_.data(), rows_, columns_, memory_.type(), stride_}; }
  reference::matrix read() const {
    const auto all = memory_.values();
    reference::matrix result(rows_, columns_);
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t column = 0; column < columns_; ++column) result.at(row, column) = all[row * stride_ + column];
    return result;
  }

  /// True if nothing was written around it or between its rows.
  bool is_alone() const {
    const auto all = memory_.values();
    for (std::size_t row = 0; row < rows_; ++row)
      for (std::size_t column = columns_; column < stride_; ++column)
        if (!std::isnan(all[row * stride_ + column])) return false;
    return memory_.canaries_are_alive();
  }
  std::vector<std::uint64_t> patterns() const { return memory_.patterns(); }

 private:
  std::vector<std::uint64_t> image(syclamp::element_type type, std::uint32_t seed, bool all_nan) const {
    auto patterns = random_patterns(type, rows_ * stride_, seed);
    for (std::size_t i = 0; i < patterns.size(); ++i)
      if (all_nan || i % stride_ >= columns_) patterns[i] = reference::encode(std::nan(""), format_of(type));
    return patterns;
  }

  std::size_t rows_, columns_, stride_;
  typed_buffer memory_;
};
