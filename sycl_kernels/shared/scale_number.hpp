// SPDX-License-Identifier: Apache-2.0
// Arithmetic on scales: rounded as FP64 would be, by integers, so that it needs no device with FP64.
// Host code includes this file as well, so it knows nothing but the standard library.
#pragma once

#include <bit>
#include <cstdint>

#include <syclamp/scale_state.hpp>

namespace syclamp::kernels {

inline constexpr int significand_bits = 53;
inline constexpr scale_number smallest_scale{std::uint64_t{1} << 52, -126 - 52};
inline constexpr scale_number largest_scale{std::uint64_t{0xffffff} << 29, 127 - 52};  // of FP32

/// Bits up to the highest one that is set.
[[gnu::always_inline]] constexpr int width_of(std::uint64_t x) { return static_cast<int>(std::bit_width(x)); }

/// Less than, equal to or greater than 0, as `a` is to `b`. 0 is less than all others.
[[gnu::always_inline]] constexpr int compare(const scale_number& a, const scale_number& b) {
  if (a.significand == 0 || b.significand == 0) return (a.significand != 0) - (b.significand != 0);
  if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
  return a.significand < b.significand ? -1 : a.significand > b.significand;
}

/// The number with `bits` of `significand` · 2^exponent, to nearest, ties to even. `inexact`: the exact value is
/// slightly above the significand. It has its highest bit at place 53 or above.
[[gnu::always_inline]] constexpr scale_number rounded(std::uint64_t significand, int exponent, bool inexact, int bits) {
  const int excess = width_of(significand) - bits;
  std::uint64_t kept = significand >> excess;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << excess) - 1);
  const std::uint64_t half = excess > 0 ? std::uint64_t{1} << (excess - 1) : 0;
  if (excess > 0 && (rest > half || (rest == half && (inexact || (kept & 1) != 0)))) ++kept;
  const int carry = width_of(kept) > bits ? 1 : 0;
  const int up = significand_bits - bits;
  return {kept >> carry << up, exponent + excess + carry - up};
}

/// The number as an FP32 would hold it.
[[gnu::always_inline]] constexpr scale_number rounded_to_float32(const scale_number& x) {
  return rounded(x.significand, x.exponent, false, 24);
}

[[gnu::always_inline]] constexpr scale_number multiply(const scale_number& a, const scale_number& b) {
  constexpr std::uint64_t low_half = 0xffffffffu;
  const std::uint64_t a_high = a.significand >> 32, a_low = a.significand & low_half;
  const std::uint64_t b_high = b.significand >> 32, b_low = b.significand & low_half;
  const std::uint64_t low = a_low * b_low;
  const std::uint64_t middle = a_high * b_low + (low >> 32), cross = a_low * b_high + (middle & low_half);
  const std::uint64_t high = a_high * b_high + (middle >> 32) + (cross >> 32);  // the product, above its low 64 bits
  const std::uint64_t rest = cross << 32 | (low & low_half);
  // 106 bits at most: 42 in `high`. The upper 64 of them decide, but for whether anything follows.
  const int shift = width_of(high);
  return rounded(high << (64 - shift) | rest >> shift, a.exponent + b.exponent + shift,
                 (rest & ((std::uint64_t{1} << shift) - 1)) != 0, significand_bits);
}

[[gnu::always_inline]] constexpr scale_number divide(const scale_number& a, const scale_number& b) {
  constexpr int places = 56;  // one more than to be rounded, in case the first one is 0; and one more
  std::uint64_t rest = a.significand, quotient = 0;
  for (int i = 0; i < places; ++i) {
    const bool fits = rest >= b.significand;
    quotient = quotient << 1 | (fits ? 1u : 0u);
    rest = (fits ? rest - b.significand : rest) << 1;
  }
  return rounded(quotient, a.exponent - b.exponent - (places - 1), rest != 0, significand_bits);
}

/// The nearest FP32. The number is in its range: not subnormal, not larger than the largest.
[[gnu::always_inline]] constexpr float to_float(const scale_number& x) {
  const scale_number y = rounded_to_float32(x);
  const auto fraction = static_cast<std::uint32_t>(y.significand >> 29) & 0x7fffffu;
  return std::bit_cast<float>(static_cast<std::uint32_t>(y.exponent + 52 + 127) << 23 | fraction);
}

/// An FP32 that is positive, normal and finite.
[[gnu::always_inline]] constexpr scale_number from_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return {std::uint64_t{(bits & 0x7fffffu) | 0x800000u} << 29, static_cast<int>(bits >> 23) - 127 - 52};
}

[[gnu::always_inline]] constexpr scale_number from_integer(std::uint32_t x) {
  if (x == 0) return {};
  const int up = significand_bits - width_of(x);
  return {std::uint64_t{x} << up, -up};
}

}  // namespace syclamp::kernels
