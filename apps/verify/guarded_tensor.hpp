// SPDX-License-Identifier: Apache-2.0
// Test data, and tensors in device memory that notice writes beside them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "syclamp/syclamp.hpp"
#include "tests/support/formats.hpp"

namespace syclamp::verify {

/// A tensor with guard elements on both sides, `offset` elements away from an aligned address.
template <typename Format>
class guarded_tensor {
 public:
  using bits = typename Format::bits;

  guarded_tensor(const engine& engine, const std::vector<bits>& content, std::size_t offset)
      : begin_(guards + offset), count_(content.size()), image_(begin_ + count_ + guards, guard) {
    std::ranges::copy(content, image_.begin() + static_cast<std::ptrdiff_t>(begin_));
    memory_ = device_array(engine, image_);
  }

  bits* data() const { return memory_.data() + begin_; }
  array_view view() const { return {data(), count_, Format::type}; }

  /// The elements as they are now. Waits.
  std::vector<std::uint64_t> read() const {
    const auto now = memory_.to_vector();
    return {now.begin() + static_cast<std::ptrdiff_t>(begin_),
            now.begin() + static_cast<std::ptrdiff_t>(begin_ + count_)};
  }

  std::vector<double> values() const {
    std::vector<double> all;
    for (const std::uint64_t entry : read()) all.push_back(reference::decode(entry, Format::format).value);
    return all;
  }

  /// Other elements for the next step.
  void write(const std::vector<bits>& content) {
    std::ranges::copy(content, image_.begin() + static_cast<std::ptrdiff_t>(begin_));
    memory_.upload(image_);
  }

  /// Empty if nothing was written beside the tensor.
  std::string written_outside() const {
    const auto now = memory_.to_vector();
    for (std::size_t i = 0; i < now.size(); ++i)
      if ((i < begin_ || i >= begin_ + count_) && now[i] != guard) return "memory outside the tensor was written";
    return {};
  }

 private:
  static constexpr std::size_t guards = 64;
  static constexpr bits guard = static_cast<bits>(0x5a5a5a5a);

  std::size_t begin_, count_;
  std::vector<bits> image_;
  device_array<bits> memory_;
};

/// Finite gradients of moderate size, zeros and subnormals among them. The first one is a normal number.
template <typename Format>
std::vector<typename Format::bits> finite_gradients(std::uint64_t count, std::uint32_t seed) {
  using bits = typename Format::bits;
  constexpr int fraction_bits = Format::format.fraction_bits, bias = (1 << (Format::format.exponent_bits - 1)) - 1;
  std::mt19937 random(seed);
  std::vector<bits> data(count);
  for (bits& entry : data) {
    const auto draw = static_cast<std::uint32_t>(random());
    const std::uint32_t kind = &entry == data.data() ? 2 : draw % 16;  // 0: zero, 1: subnormal
    const auto fraction = static_cast<bits>(random() & ((std::uint64_t{1} << fraction_bits) - 1));
    const auto exponent = static_cast<bits>(kind < 2 ? 0 : bias - 10 + static_cast<int>(draw >> 4 & 15));
    const bits sign = (draw >> 8 & 1) != 0 ? Format::sign : bits{0};
    entry = static_cast<bits>(sign | static_cast<bits>(exponent << fraction_bits) | (kind == 0 ? bits{0} : fraction));
  }
  return data;
}

/// The same without numbers that become subnormal in FP32 when they are unscaled: the oracle's bounds of errors are
/// relative to the size of a number.
template <typename Format>
std::vector<typename Format::bits> normal_gradients(std::uint64_t count, std::uint32_t seed) {
  auto data = finite_gradients<Format>(count, seed);
  if (Format::format.exponent_bits < reference::binary32.exponent_bits) return data;  // FP32 has a wider range
  for (auto& entry : data)
    if (reference::decode(entry, Format::format).value_kind == reference::kind::subnormal) entry = 0;
  return data;
}

/// Any bit pattern of FP32. Every second one is near the range of FP16, so that casts round, underflow and overflow.
inline std::vector<std::uint32_t> any_floats(std::uint64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> data(count);
  for (std::uint32_t& entry : data) {
    const auto pattern = static_cast<std::uint32_t>(random());
    const auto draw = static_cast<std::uint32_t>(random());
    const std::uint32_t exponent = 127 - 26 + draw / 2 % 44;
    entry = draw % 2 == 0 ? pattern : (pattern & 0x807fffffu) | exponent << 23;
  }
  return data;
}

/// Numbers between -`largest` and `largest`, as the type can hold them.
template <typename Format>
std::vector<typename Format::bits> uniform_numbers(std::uint64_t count, std::uint32_t seed, double largest = 1.0) {
  std::mt19937 random(seed);
  std::vector<typename Format::bits> data(count);
  for (auto& entry : data) {
    const double fraction = static_cast<double>(static_cast<std::uint32_t>(random())) * 0x1p-31 - 1.0;
    entry = static_cast<typename Format::bits>(reference::encode(fraction * largest, Format::format));
  }
  return data;
}

/// Calls `action` with each type of gradients.
template <typename Action>
void for_each_gradient_type(Action action) {
  action(float16{});
  action(bfloat16{});
  action(float32{});
}

/// Calls `action` with each type of tensors.
template <typename Action>
void for_each_type(Action action) {
  for_each_gradient_type(action);
  action(float64{});
  action(float8_e4m3{});
  action(float8_e5m2{});
}

/// Differences of several types or sizes as one text.
inline void add_difference(std::string& all, const std::string& place, const std::string& difference) {
  if (difference.empty()) return;
  if (!all.empty()) all += "; ";
  all += place + ": " + difference;
}

}  // namespace syclamp::verify
