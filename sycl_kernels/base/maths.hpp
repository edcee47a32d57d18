// SPDX-License-Identifier: Apache-2.0
// Functions of FP32 numbers, to a few units in the last place and with the same bits on every device: nothing but
// additions, multiplications, divisions and FMAs. (sycl::exp and its like take no packs, and each device has its own.)
// First those of packs, for elements; then those of one number, for what is computed once per step.
// What the host computes as well is in shared/maths.hpp.
//
// Coefficients of the functions of packs are those of Cephes (S. L. Moshier, netlib.org/cephes, single precision).
#pragma once

#include <cstdint>

#include "sycl_kernels/base/pack.hpp"

namespace syclamp::kernels {

// --- Packs -----------------------------------------------------------------------------------------------------------

/// e^x. Inf above 88.73, 0 below -104; NaN for NaN. Subnormal results are right, if the device has them.
template <unsigned Lanes>
[[gnu::always_inline]] inline pack<float, Lanes> exponential(pack<float, Lanes> x) {
  using floats = pack<float, Lanes>;
  using words = pack<std::uint32_t, Lanes>;
  using integers = pack<std::int32_t, Lanes>;
  constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;  // k · ln2_high is exact
  constexpr float rounder = 12582912.0f;  // 1.5 · 2^23: what is added to it is rounded to an integer in its low bits
  x = x > 89.0f ? floats(89.0f) : x < -105.0f ? floats(-105.0f) : x;  // by comparisons, which a NaN survives
  const floats shifted = x * 1.44269504f + rounder, k = shifted - rounder;
  const integers power = __builtin_bit_cast(integers, shifted) - 0x4b400000;
  const auto fma = [](floats a, floats b, floats c) { return __builtin_elementwise_fma(a, b, c); };
  const floats r = fma(-k, floats(ln2_low), fma(-k, floats(ln2_high), x));
  floats p = fma(r, floats(1.9875691500e-4f), floats(1.3981999507e-3f));
  p = fma(p, r, floats(8.3334519073e-3f));
  p = fma(p, r, floats(4.1665795894e-2f));
  p = fma(p, r, floats(1.6666665459e-1f));
  p = fma(p, r, floats(5.0000001201e-1f));
  p = fma(p * r, r, r) + 1.0f;
  // 2^k in two factors, as it may be beyond the range while the result is not.
  const integers half = power >> 1;
  const auto two_to = [](integers n) { return __builtin_bit_cast(floats, __builtin_bit_cast(words, n + 127) << 23); };
  return p * two_to(half) * two_to(power - half);
}

/// The natural logarithm of a positive normal number.
template <unsigned Lanes>
[[gnu::always_inline]] inline pack<float, Lanes> logarithm(pack<float, Lanes> x) {
  using floats = pack<float, Lanes>;
  using words = pack<std::uint32_t, Lanes>;
  using integers = pack<std::int32_t, Lanes>;
  const words raw = __builtin_bit_cast(words, x);
  // x = m · 2^k with m from √½ to √2.
  const words above = ones<words>((raw & 0x7fffffu) > 0x3504f3u);
  const integers k = __builtin_bit_cast(integers, (raw >> 23) + above) - 127;
  const floats m = __builtin_bit_cast(floats, (raw & 0x7fffffu) | (127u - above) << 23);
  const floats r = m - 1.0f, square = r * r, turns = __builtin_convertvector(k, floats);
  floats p = 7.0376836292e-2f;
  for (const float coefficient : {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                                  -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f})
    p = __builtin_elementwise_fma(p, r, floats(coefficient));
  p = p * r * square + turns * -2.12194440e-4f - 0.5f * square;
  return r + p + turns * 0.693359375f;
}

template <unsigned Lanes>
[[gnu::always_inline]] inline pack<float, Lanes> hyperbolic_tangent(pack<float, Lanes> x) {
  using floats = pack<float, Lanes>;
  const floats size = __builtin_elementwise_abs(x), square = x * x;
  const floats large = 1.0f - 2.0f / (exponential<Lanes>(2.0f * size) + 1.0f);
  floats p = -5.70498872745e-3f;
  for (const float coefficient : {2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f})
    p = __builtin_elementwise_fma(p, square, floats(coefficient));
  const floats small = __builtin_elementwise_fma(p * square, x, x);
  return size < 0.625f ? small : x < 0.0f ? -large : large;
}

/// 1 / (1 + e^-x).
template <unsigned Lanes>
[[gnu::always_inline]] inline pack<float, Lanes> sigmoid(pack<float, Lanes> x) {
  return 1.0f / (1.0f + exponential<Lanes>(-x));
}

// --- One number ------------------------------------------------------------------------------------------------------

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
