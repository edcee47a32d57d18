// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/numbers.hpp"

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

}  // namespace reference
