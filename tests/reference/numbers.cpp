// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace reference {
namespace {

std::uint64_t bit(int place) { return std::uint64_t{1} << place; }
int bias(number_format format) { return (1 << (format.exponent_bits - 1)) - 1; }

std::uint64_t sign_of(double value, number_format format) {
  return std::signbit(value) ? bit(format.fraction_bits + format.exponent_bits) : 0;
}
std::uint64_t infinity(number_format format) { return (bit(format.exponent_bits) - 1) << format.fraction_bits; }
std::uint64_t nan(number_format format) {
  return format.has_infinity ? infinity(format) | bit(format.fraction_bits - 1)
                             : bit(format.exponent_bits + format.fraction_bits) - 1;
}
std::uint64_t largest_pattern(number_format format) {
  return (format.has_infinity ? infinity(format) : nan(format)) - 1;
}

/// The exponent that decides on the spacing of numbers round a magnitude: subnormals have that of the smallest normal.
int exponent_for_spacing(double magnitude, number_format format) {
  return std::max(std::ilogb(magnitude), 1 - bias(format));
}

/// The pattern of `steps` times the spacing at `exponent`: in these steps the pattern counts on, and a carry out of the
/// fraction is a step of the exponent.
std::uint64_t pattern_of(double steps, int exponent, number_format format) {
  return static_cast<std::uint64_t>(steps) +
         (static_cast<std::uint64_t>(exponent + bias(format) - 1) << format.fraction_bits);
}

std::uint64_t bounded(std::uint64_t pattern, number_format format, bool saturate) {
  const std::uint64_t most = largest_pattern(format);
  if (pattern <= most) return pattern;
  return saturate ? most : format.has_infinity ? infinity(format) : nan(format);
}

std::uint64_t nearest_pattern(double magnitude, number_format format) {
  if (std::isinf(magnitude)) return std::numeric_limits<std::uint64_t>::max();
  const int exponent = exponent_for_spacing(magnitude, format);
  return pattern_of(std::nearbyint(std::ldexp(magnitude, format.fraction_bits - exponent)), exponent, format);
}

}  // namespace

number decode(std::uint64_t bits, number_format format) {
  const std::uint64_t fraction = bits & (bit(format.fraction_bits) - 1);
  const std::uint64_t exponent = (bits >> format.fraction_bits) & (bit(format.exponent_bits) - 1);
  const double sign = ((bits >> (format.fraction_bits + format.exponent_bits)) & 1) != 0 ? -1.0 : 1.0;
  const bool highest = exponent == bit(format.exponent_bits) - 1;
  if (highest && (format.has_infinity ? fraction != 0 : fraction == bit(format.fraction_bits) - 1))
    return {kind::nan, std::numeric_limits<double>::quiet_NaN()};
  if (highest && format.has_infinity) return {kind::infinity, sign * std::numeric_limits<double>::infinity()};
  if (exponent == 0) {
    const double value = std::ldexp(static_cast<double>(fraction), 1 - bias(format) - format.fraction_bits);
    return {fraction == 0 ? kind::zero : kind::subnormal, sign * value};
  }
  const double significand = 1.0 + std::ldexp(static_cast<double>(fraction), -format.fraction_bits);
  return {kind::normal, sign * std::ldexp(significand, static_cast<int>(exponent) - bias(format))};
}

double largest(number_format format) { return decode(largest_pattern(format), format).value; }

std::uint64_t encode(double value, number_format format, bool saturate) {
  const std::uint64_t sign = sign_of(value, format);
  if (std::isnan(value)) return sign | nan(format);
  if (value == 0) return sign;
  return sign | bounded(nearest_pattern(std::abs(value), format), format, saturate);
}

std::uint64_t encode_at_random(float value, number_format format, std::uint32_t random, bool saturate) {
  const double magnitude = std::abs(static_cast<double>(value));
  if (std::isnan(value) || std::isinf(value) || value == 0) return encode(static_cast<double>(value), format, saturate);
  const int exponent = exponent_for_spacing(magnitude, format);
  const double steps = std::ldexp(magnitude, format.fraction_bits - exponent);
  // How many bits of the FP32's significand are below the spacing; of a word, 31 are used at most.
  const int fp32_exponent = std::max(std::ilogb(magnitude), 1 - bias(binary32));
  const int cut_off = std::min(exponent - format.fraction_bits - (fp32_exponent - binary32.fraction_bits), 31);
  const double part = std::floor(std::ldexp(steps - std::floor(steps), cut_off));
  const bool up = part + static_cast<double>(random & (bit(cut_off) - 1)) >= std::ldexp(1.0, cut_off);
  return sign_of(static_cast<double>(value), format) |
         bounded(pattern_of(std::floor(steps) + (up ? 1.0 : 0.0), exponent, format), format, saturate);
}

bool is_beyond(double value, number_format format) {
  if (std::isnan(value) || value == 0) return false;
  return nearest_pattern(std::abs(value), format) > largest_pattern(format);
}

double rounded_to_float(double value) { return decode(encode(value, binary32), binary32).value; }

double half_spacing(double value, number_format format) {
  const double smallest_step = std::ldexp(1.0, 1 - bias(format) - format.fraction_bits);
  return std::max(std::abs(value) * std::ldexp(1.0, -format.fraction_bits - 1), smallest_step / 2);
}

std::vector<float> numbers_near(number_format format, std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  const int highest = std::ilogb(largest(format)) + 2;
  const int lowest = std::ilogb(decode(1, format).value) - 9;
  std::vector<float> values(count);
  for (auto& entry : values) {
    const double exponent = lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest));
    const double fraction = 1.0 + static_cast<double>(random() % (1u << 23)) * 0x1p-23;
    entry = static_cast<float>(std::ldexp(random() % 2 == 0 ? fraction : -fraction, static_cast<int>(exponent)));
  }
  values.at(3) = 0.0f;
  values.at(4) = -std::numeric_limits<float>::infinity();
  values.at(5) = std::numeric_limits<float>::quiet_NaN();
  values.at(6) = static_cast<float>(largest(format));
  return values;
}

}  // namespace reference
