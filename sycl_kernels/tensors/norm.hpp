// SPDX-License-Identifier: Apache-2.0
// From an inspection of scaled gradients to the norm of unscaled ones, and to the factor that brings it below a limit.
#pragma once

#include "sycl_kernels/base/wide_sum.hpp"
#include "sycl_kernels/shared/layout.hpp"

namespace syclamp::kernels {

/// x · 2^exponent / scale, although one of the three factors alone may be out of range. `x` is no subnormal.
inline float unscaled(float x, std::int32_t exponent, float scale) {
  constexpr std::uint32_t value = 0x3f800000u, fraction = 0x007fffffu;
  if (exponent == 0 || scale == 0.0f || !is_finite(scale)) return x / scale;
  if (scale < 0x1p-126f) {  // subnormal: no place for the hidden bit
    scale *= 0x1p24f;
    exponent += 24;
  }
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, scale);
  const auto power_of_two = [](std::int32_t e) {  // more than 2^127 is not needed: the result is Inf then
    return __builtin_bit_cast(float, static_cast<std::uint32_t>((e < 127 ? e : 127) + 127) << 23);
  };
  const std::int32_t shift = exponent - (static_cast<std::int32_t>(bits >> 23) - 127), half = shift / 2;
  return x / __builtin_bit_cast(float, value | (bits & fraction)) * power_of_two(half) * power_of_two(shift - half);
}

inline float unscaled_norm(const inspection& result, norm_kind kind) {
  if (kind == norm_kind::l2)
    return unscaled(__builtin_elementwise_sqrt(result.sum_of_squares), result.squares_exponent / 2, result.scale);
  if (kind == norm_kind::l1) return unscaled(result.abs_sum, result.abs_sum_exponent, result.scale);
  return result.amax / result.scale;
}

/// sqrt(a² + b²) of norms, without leaving the range on the way. If b is 0, it is a.
inline float joint_norm(float a, float b) {
  const float larger = a > b ? a : b, smaller = a > b ? b : a;
  if (larger == 0.0f || !is_finite(a) || !is_finite(b)) return a + b;
  const float ratio = smaller / larger;
  return larger * __builtin_elementwise_sqrt(__builtin_elementwise_fma(ratio, ratio, 1.0f));
}

/// Limits of norms and of values are numbers in device memory, which the host never sees. Inf means no limit.
inline bool is_limit(float x) { return x >= 0.0f; }

/// Returns 1 if the norm is not finite; the caller decides whether to skip the step. Returns NaN if `max_norm` is
/// negative or NaN.
inline float clip_factor(float norm, float max_norm) {
  if (!is_limit(max_norm)) return __builtin_bit_cast(float, 0x7fc00000u);
  const float wanted = max_norm / (norm + clip_epsilon);
  return wanted < 1.0f && is_finite(norm) ? wanted : 1.0f;
}

}  // namespace syclamp::kernels
