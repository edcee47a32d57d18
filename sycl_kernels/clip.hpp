// SPDX-License-Identifier: Apache-2.0
// clip_coefficient: from the sum of squares of scaled gradients to the factor that brings their norm below a limit.
// One work-item; the result stays on the device for the kernels that apply it.
#pragma once

#include "layout.hpp"
#include "work_group.hpp"

namespace syclamp::kernels {

template <unsigned PackBytes, unsigned GroupSize>
struct clip_coefficient {
  struct shared {};

  [[gnu::always_inline]] static void run(sycl::nd_item<1> item, shared&, const inspection* seen, const float* scale,
                                         const float* max_norm, clip_result* result) {
    if (item.get_global_id(0) != 0) return;
    const float root = __builtin_elementwise_sqrt(seen->sum_of_squares);
    const float norm = scale != nullptr ? root / *scale : root;
    const float wanted = *max_norm / (norm + clip_epsilon);
    result->norm = norm;
    // A norm that is Inf or NaN leaves the gradients as they are: whether to skip the step is not decided here.
    result->coefficient =
        wanted < 1.0f && (__builtin_bit_cast(std::uint32_t, norm) & 0x7f800000u) != 0x7f800000u ? wanted : 1.0f;
  }
};

}  // namespace syclamp::kernels
