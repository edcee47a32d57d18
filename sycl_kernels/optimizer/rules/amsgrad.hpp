// SPDX-License-Identifier: Apache-2.0
// Adam and AdamW with AMSGrad, apart from those without: a family is compiled as a whole, and few need this one.
#pragma once

#include "sycl_kernels/optimizer/rules/adam.hpp"

namespace syclamp::kernels {

template <apply_tuning Tuning>
struct amsgrad_step : apply_list<adam_rule<true>, Tuning> {};

}  // namespace syclamp::kernels
