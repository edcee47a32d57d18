// SPDX-License-Identifier: Apache-2.0
// Adam and AdamW with AMSGrad. A family of its own, because a family is compiled as a whole and few users need AMSGrad.
#pragma once

#include "sycl_kernels/optimizer/rules/adam.hpp"

namespace syclamp::kernels {

template <apply_tuning Tuning>
struct amsgrad_step : apply_list<adam_rule<true>, Tuning> {};

}  // namespace syclamp::kernels
