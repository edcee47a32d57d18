// SPDX-License-Identifier: Apache-2.0
// Number formats from their definitions: sign, exponent, fraction. Written to be checked by eye, not to be fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reference {

struct number_format {
  int exponent_bits;
  int fraction_bits;
  bool has_infinity = true;  ///< if not, the highest exponent is one like the others, and only all ones are a NaN
};

inline constexpr number_format binary16{5, 10};
inline constexpr number_format bf16{8, 7};
inline constexpr number_format binary32{8, 23};
inline constexpr number_format binary64{11, 52};
inline constexpr number_format e4m3{4, 3, false};
inline constexpr number_format e5m2{5, 2};

enum class kind { zero, subnormal, normal, infinity, nan };

struct number {
  kind value_kind;
  double value;  ///< signed; NaN for a NaN
};

number decode(std::uint64_t bits, number_format format);

/// The largest finite number.
double largest(number_format format);

/// The bits of the number of this format that is nearest to `value`, ties to even; a quiet NaN for a NaN. Beyond the
/// range: Inf, a NaN if there is no Inf, or the largest number if `saturate`.
std::uint64_t encode(double value, number_format format, bool saturate = false);

/// The same with stochastic rounding of an FP32: up if the part that is cut off, as a fraction of the spacing, and the
/// same number of low bits of `random`, as a fraction, are 1 or more together.
std::uint64_t encode_at_random(float value, number_format format, std::uint32_t random, bool saturate = false);

/// True if rounding `value` to nearest leaves the range of the format.
bool is_beyond(double value, number_format format);

/// `value` as an FP32, to nearest.
double rounded_to_float(double value);

/// How far rounding to nearest may move `value`, at most: half the distance between numbers of the format.
double half_spacing(double value, number_format format);

/// FP32 numbers of which most are within or near the range of a format: uniformly distributed exponents from below its
/// smallest number to above its largest. Numbers 3 to 6 are 0, -Inf, a NaN and the largest number of the format.
std::vector<float> numbers_near(number_format format, std::size_t count, std::uint32_t seed);

}  // namespace reference
