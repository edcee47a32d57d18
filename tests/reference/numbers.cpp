// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reference {

number decode(std::uint32_t bits, number_format format) {
  const std::uint32_t fraction = bits & ((1u << format.fraction_bits) - 1);
  const std::uint32_t exponent = (bits >> format.fraction_bits) & ((1u << format.exponent_bits) - 1);
  const bool negative = ((bits >> (format.fraction_bits + format.exponent_bits)) & 1) != 0;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double sign = negative ? -1.0 : 1.0;
  if (exponent == (1u << format.exponent_bits) - 1) {
    if (fraction == 0) return {kind::infinity, sign * std::numeric_limits<double>::infinity()};
    return {kind::nan, std::numeric_limits<double>::quiet_NaN()};
  }
  if (exponent == 0) {
    const double value = std::ldexp(static_cast<double>(fraction), 1 - bias - format.fraction_bits);
    return {fraction == 0 ? kind::zero : kind::subnormal, sign * value};
  }
  const double significand = 1.0 + std::ldexp(static_cast<double>(fraction), -format.fraction_bits);
  return {kind::normal, sign * std::ldexp(significand, static_cast<int>(exponent) - bias)};
}

std::uint32_t encode(double value, number_format format) {
  const std::uint32_t sign = std::signbit(value) ? 1u << (format.fraction_bits + format.exponent_bits) : 0u;
  const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  if (std::isnan(value)) return sign | infinity | 1u << (format.fraction_bits - 1);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const double magnitude = std::abs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(value)) return sign | infinity;
  // The spacing of numbers round this magnitude; subnormals have that of the smallest normal.
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  const double steps = std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent));
  // In steps of that spacing the pattern counts on: a carry out of the fraction is a step of the exponent.
  const double pattern = steps + std::ldexp(static_cast<double>(exponent + bias - 1), format.fraction_bits);
  return sign | (pattern >= infinity ? infinity : static_cast<std::uint32_t>(pattern));
}

}  // namespace reference
