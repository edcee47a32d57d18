// SPDX-License-Identifier: Apache-2.0
// From an inspection of scaled gradients to the norm of unscaled ones, and to the factor that brings it below a limit.
#pragma once

#include "layout.hpp"

namespace syclamp::kernels {

inline bool is_finite(float x) { return (__builtin_bit_cast(std::uint32_t, x) & 0x7f800000u) != 0x7f800000u; }

inline float unscaled_norm(const inspection& seen, norm_kind kind) {
  const float scaled = kind == norm_kind::l2   ? __builtin_elementwise_sqrt(seen.sum_of_squares)
                       : kind == norm_kind::l1 ? seen.sum_of_magnitudes
                                               : seen.amax;
  return scaled / seen.scale;
}

/// A norm that is Inf or NaN leaves the gradients as they are: whether to skip the step is not decided here.
inline float clip_factor(float norm, float max_norm) {
  const float wanted = max_norm / (norm + clip_epsilon);
  return wanted < 1.0f && is_finite(norm) ? wanted : 1.0f;
}

}  // namespace syclamp::kernels
