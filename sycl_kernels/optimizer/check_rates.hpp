// SPDX-License-Identifier: Apache-2.0
// Learning rates that were computed on the device, where the host cannot check them.
//
//   check_rates   one work-group   parameter_group[] → 1 in `invalid` if a step cannot be made with them
#pragma once

#include "sycl_kernels/base/counter.hpp"
#include "sycl_kernels/base/work_group.hpp"
#include "sycl_kernels/optimizer/learning_rate.hpp"
#include "sycl_kernels/shared/maths.hpp"

namespace syclamp::kernels {

template <scalar_tuning Tuning>
struct check_rates {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const parameter_group* groups,
                                         std::uint32_t count, std::uint32_t* invalid) {
    for (std::uint32_t i = item.id; i < count; i += Tuning.group_size) {
      const float rate = rate_of(groups[i]);
      if (!(rate >= 0.0f && is_finite(rate))) or_in_device(invalid, 1);
    }
  }
};

}  // namespace syclamp::kernels
