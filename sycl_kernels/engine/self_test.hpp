// SPDX-License-Identifier: Apache-2.0
// self_test: computations whose results reveal how the compiler and the device treat floating point. One work-item; the
// host checks the results.
#pragma once

#include "sycl_kernels/base/format.hpp"
#include "sycl_kernels/base/pack.hpp"
#include "sycl_kernels/base/work_group.hpp"
#include "sycl_kernels/shared/layout.hpp"

namespace syclamp::kernels {

template <scalar_tuning Tuning>
struct self_test {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const arithmetic_inputs* in,
                                         arithmetic_answers* out) {
    if (item.global_id<Tuning.group_size>() != 0) return;
    using half = format<element_type::float16>;
    for (int i = 0; i < 4; ++i) {
      const float wide = widen<half>(in->half_subnormals[i]);
      out->widened_subnormals[i] = wide;
      out->narrowed_subnormals[i] = narrow(wide);
    }
    out->rounded_low = narrow(in->tie_to_even_low);
    out->rounded_high = narrow(in->tie_to_even_high);
    out->largest = narrow(in->below_overflow);
    out->overflowed = narrow(in->overflow);
    out->reassociated = (in->large + in->small) - in->large;
    out->contracted = in->factor * in->factor + in->addend;
    out->fused = __builtin_elementwise_fma(in->factor, in->factor, in->addend);
    out->quotient = in->dividend / in->divisor;
    out->root = __builtin_elementwise_sqrt(in->radicand);
    out->subnormal_doubled = in->subnormal_float * 2.0f;
    const float x = __builtin_bit_cast(float, in->quiet_nan);
    out->nan_differs_from_itself = x != x;
  }

 private:
  static std::uint16_t narrow(float x) { return __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(x)); }
};

}  // namespace syclamp::kernels
