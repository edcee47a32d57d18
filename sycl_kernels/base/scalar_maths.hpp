// SPDX-License-Identifier: Apache-2.0
// Functions of one FP32 number to a few units in the last place, the same bits on every device: nothing but additions,
// multiplications and divisions, each rounded by itself.
#pragma once

#include <cstdint>

namespace syclamp::kernels {

/// e^x - 1 for x between -ln2/2 and ln2/2, relatively exact: the series, of which the tenth term is below 2^-35.
[[gnu::always_inline]] inline float small_expm1(float x) {
  float tail = 1.0f;
  for (int n = 9; n > 1; --n) tail = __builtin_elementwise_fma(tail, x / static_cast<float>(n), 1.0f);
  return x * tail;
}

/// e^x - 1 for x of 0 or less, -Inf included, to 2^-22 of the result: e^x = 2^k e^r, and 2^k - 1 is exact.
[[gnu::always_inline]] inline float expm1_of(float x) {
  constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f;  // k · ln2_high is exact
  if (x > -0.34f) return small_expm1(x);
  if (x < -20.0f) return -1.0f;  // to less than half a unit
  const int k = static_cast<int>(x * 1.44269504f - 0.5f);
  const auto turns = static_cast<float>(k);
  const float rest = __builtin_elementwise_fma(-turns, ln2_low, x - turns * ln2_high);
  const float power = __builtin_bit_cast(float, static_cast<std::uint32_t>(k + 127) << 23);
  return __builtin_elementwise_fma(power, small_expm1(rest), power - 1.0f);
}

/// x^n by squaring: exact for powers of two, otherwise to n · 2^-24.
[[gnu::always_inline]] inline float power_of(float x, std::uint64_t n) {
  float result = 1.0f;
  for (float square = x; n != 0 && result != 0.0f; n >>= 1, square *= square)
    if ((n & 1u) != 0) result *= square;
  return result;
}

/// The sine of x quarter turns, x from 0 to 1, by its series.
[[gnu::always_inline]] inline float sine_of_quarters(float x) {
  const float angle = x * 1.57079633f, square = angle * angle;
  float tail = 1.0f;
  for (int n = 13; n > 1; n -= 2)
    tail = __builtin_elementwise_fma(tail, -square / static_cast<float>(n * (n - 1)), 1.0f);
  return angle * tail;
}

}  // namespace syclamp::kernels
