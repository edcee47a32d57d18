// SPDX-License-Identifier: Apache-2.0
// The result of `syclamp exponents`, and its drawings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "syclamp/exponent_histogram.hpp"

namespace syclamp::program {

/// Counts of numbers that were multiplied by a scale and rounded to FP16.
struct fp16_fate {
  float scale = 1.0f;
  std::uint64_t elements = 0;
  std::uint64_t zero_count = 0, subnormal_count = 0, normals = 0,
                overflows = 0;        ///< as FP16; of those that were finite before
  float amax = 0.0f;                  ///< largest scaled magnitude, as an FP32
  exponent_histogram exponents = {};  ///< of the scaled numbers, as FP32
};

/// The source of the numbers, and the counts for each scale.
struct exponent_report {
  std::string source;  ///< its name for people
  std::string type;
  std::uint64_t elements = 0;
  std::uint64_t zero_count = 0;  ///< zeros in the source
  std::uint64_t not_finite = 0;  ///< Inf and NaN in the source
  std::vector<fp16_fate> fates = {};
};

/// The class of FP16 numbers that the numbers of a bin are rounded to. At the ends of a bin, rounding may lead to the
/// neighbouring class.
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

/// A share in percent. A small share is never shown as 0.
std::string percent(std::uint64_t part, std::uint64_t all);

std::string text_of(const exponent_report& report);
std::string svg_of(const exponent_report& report);

}  // namespace syclamp::program
