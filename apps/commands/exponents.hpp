// SPDX-License-Identifier: Apache-2.0
// What `syclamp exponents` has counted, and how it is drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "syclamp/exponent_histogram.hpp"

namespace syclamp::program {

/// What becomes of numbers that are multiplied by a scale and stored as FP16.
struct fp16_fate {
  float scale = 1.0f;
  std::uint64_t elements = 0;
  std::uint64_t zero_count = 0, subnormal_count = 0, normals = 0,
                overflows = 0;        ///< as FP16; of those that were finite before
  float amax = 0.0f;                  ///< largest scaled magnitude, as an FP32
  exponent_histogram exponents = {};  ///< of the scaled numbers, as FP32
};

/// Where numbers came from, and what becomes of them with each scale.
struct exponent_report {
  std::string source;  ///< as a person reads it
  std::string type;
  std::uint64_t elements = 0;
  std::uint64_t zero_count = 0;  ///< those that were zero to begin with
  std::uint64_t not_finite = 0;  ///< those that were Inf or NaN to begin with
  std::vector<fp16_fate> fates = {};
};

/// What an FP16 makes of the numbers of a bin, but for those at its very ends, which are rounded to a neighbour.
enum class fp16_zone { zero, subnormal, normal, overflow };

constexpr fp16_zone zone_of(int exponent) {
  // From half the smallest subnormal on, numbers are rounded up to it.
  if (exponent < -25) return fp16_zone::zero;
  if (exponent < -14) return fp16_zone::subnormal;
  return exponent < 16 ? fp16_zone::normal : fp16_zone::overflow;
}

/// A border of FP16: between bin `exponent` and the one below it.
struct fp16_border {
  int exponent;
  const char* value;
  const char* meaning;
};
inline constexpr fp16_border fp16_borders[] = {
    {-24, "5.96e-08", "smallest subnormal"}, {-14, "6.10e-05", "smallest normal"}, {16, "65504", "largest"}};

/// A share as people read it: a few are never shown as none.
std::string percent(std::uint64_t part, std::uint64_t all);

std::string text_of(const exponent_report& report);
std::string svg_of(const exponent_report& report);

}  // namespace syclamp::program
