// SPDX-License-Identifier: Apache-2.0
// Functions of FP32 numbers that host and device share, with the same bits on both: nothing but additions,
// multiplications and divisions, each rounded by itself; right to a few units in the last place.
// What only kernels use is in base/maths.hpp. Host code includes this file as well, so it knows nothing but the
// standard library.
#pragma once

#include <bit>
#include <cstdint>

namespace syclamp::kernels {

/// Neither Inf nor NaN. Tested on the bits, which no compiler option can remove.
constexpr bool is_finite(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u; }

/// log2 of a positive normal number: of its exponent and, by the series of the inverse hyperbolic tangent, of a
/// significand between sqrt(1/2) and sqrt(2).
constexpr float log2_of(float x) {
  constexpr float two_over_ln2 = 2.88539008f;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const bool is_high = (bits & 0x7fffffu) > 0x3504f3u;  // above sqrt(2)
  const float m = std::bit_cast<float>((bits & 0x7fffffu) | (is_high ? 0x3f000000u : 0x3f800000u));
  const float exponent = static_cast<float>(static_cast<int>(bits >> 23) - 127 + (is_high ? 1 : 0));
  const float t = (m - 1.0f) / (m + 1.0f), u = t * t;
  const float series = 1.0f + u * (1.0f / 3 + u * (1.0f / 5 + u * (1.0f / 7 + u * (1.0f / 9))));
  return exponent + two_over_ln2 * (t * series);
}

/// 2^x for x from -126 to 127, by the series of the exponential function round the nearest integer.
constexpr float exp2_of(float x) {
  constexpr float ln2 = 0.693147181f;
  const int nearest = static_cast<int>(x < 0 ? x - 0.5f : x + 0.5f);
  const float y = (x - static_cast<float>(nearest)) * ln2;
  const float series =
      1.0f + y * (1.0f + y * (1.0f / 2 + y * (1.0f / 6 + y * (1.0f / 24 + y * (1.0f / 120 + y * (1.0f / 720))))));
  return series * std::bit_cast<float>(static_cast<std::uint32_t>(nearest + 127) << 23);
}

/// The square root of a number that is not negative.
constexpr float root_of(float x) { return x < 0x1p-126f ? 0.0f : exp2_of(0.5f * log2_of(x)); }

}  // namespace syclamp::kernels
