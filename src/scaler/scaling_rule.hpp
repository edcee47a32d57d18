// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sycl_kernels/shared/scale_rule.hpp"
#include "syclamp/export.hpp"
#include "syclamp/scaling_policy.hpp"

namespace SYCLAMP_NAMESPACE {

/// A valid policy as devices read it.
kernels::scaling_rule rule_of(const scaling_policy& policy);

}  // namespace SYCLAMP_NAMESPACE
