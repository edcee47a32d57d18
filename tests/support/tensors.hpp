// SPDX-License-Identifier: Apache-2.0
// Lists of tensors to test on, and numbers in device memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/formats.hpp"

inline constexpr std::uint64_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 4095, 4097, 65536, 70'001};

/// Any bit pattern at all: subnormals, both infinities and NaNs among them.
template <typename Format>
std::vector<typename Format::bits> any_bits(std::uint64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<typename Format::bits> data(count);
  for (auto& entry : data) entry = static_cast<typename Format::bits>(std::uint64_t{random()} << 32 | random());
  return data;
}

/// Finite numbers with exponents near the middle of the range, of which FP32 can hold the squares; a tenth of them
/// zero.
template <typename Format>
std::vector<typename Format::bits> finite_bits(std::uint64_t count, std::uint32_t seed) {
  using bits = typename Format::bits;
  constexpr int fraction_bits = Format::format.fraction_bits, bias = (1 << (Format::format.exponent_bits - 1)) - 1;
  auto data = any_bits<Format>(count, seed);
  std::mt19937 random(seed + 1);
  for (auto& entry : data) {
    const auto exponent = static_cast<bits>(bias - std::min(bias - 1, 6) + static_cast<int>(random() % 7));
    const auto rest = static_cast<bits>(entry & (Format::sign | ((bits{1} << fraction_bits) - 1)));
    entry = random() % 10 == 0 ? bits{0} : static_cast<bits>(rest | static_cast<bits>(exponent << fraction_bits));
  }
  return data;
}

/// A list of tensors of all sizes in one piece of memory with canaries; odd offsets if not aligned.
template <typename Format>
struct tensors_of_all_sizes {
  using bits = typename Format::bits;

  tensors_of_all_sizes(const syclamp::engine& engine, std::uint32_t seed, std::size_t offset, bool finite = false)
      : content(finite ? finite_bits<Format>(total(), seed) : any_bits<Format>(total(), seed)),
        memory(engine.queue(), content, offset),
        list(engine, describe()) {}

  static std::uint64_t total() {
    std::uint64_t sum = 0;
    for (const auto size : sizes) sum += size + 3;  // gaps between the tensors, which must not be written
    return sum;
  }
  std::vector<syclamp::tensor> describe() const {
    std::vector<syclamp::tensor> tensors;
    std::uint64_t place = 0;
    for (const auto size : sizes) {
      tensors.push_back({{memory.data() + place, Format::type}, size});
      place += size + 3;
    }
    return tensors;
  }
  static bool in_gap(std::uint64_t index) {
    std::uint64_t place = 0;
    for (const auto size : sizes) {
      if (index < place + size) return false;
      if (index < place + size + 3) return true;
      place += size + 3;
    }
    return true;
  }

  std::vector<bits> content;
  device_buffer<bits> memory;
  syclamp::tensor_list list;
};

struct device_scalar {
  device_scalar(const syclamp::engine& owner, float value) : engine(owner), memory(engine.queue(), {value}) {}
  operator const float*() const { return memory.data(); }
  float* data() const { return memory.data(); }
  syclamp::device_value value() const { return {engine, memory.data()}; }
  operator syclamp::scalar() const { return value(); }
  syclamp::engine engine;
  device_buffer<float> memory;
};

/// out = in · factor in exact arithmetic, rounded once to FP32 (a product of two FP32 numbers is exact in double) and
/// once more to the format of `out`.
template <typename In, typename Out>
void check_converted(const tensors_of_all_sizes<In>& in, const tensors_of_all_sizes<Out>& out, double factor) {
  const auto result = out.memory.read();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < result.size(); ++i) {
    // An element is an FP32 first of all: every type but FP64 is one exactly.
    const double element = reference::rounded_to_float(reference::decode(in.content[i], In::format).value);
    const auto expected = tensors_of_all_sizes<In>::in_gap(i)
                              ? out.content[i]
                              : reference::encode(reference::rounded_to_float(element * factor), Out::format);
    if (!same_number<Out>(result[i], expected)) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(out.memory.canaries_are_alive());
}
