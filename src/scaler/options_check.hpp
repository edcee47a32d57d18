// SPDX-License-Identifier: Apache-2.0
// Refuses options and scales that a loss scaler cannot work with.
#pragma once

#include <span>

#include "syclamp/export.hpp"
#include "syclamp/loss_scaler.hpp"
#include "syclamp/optimizer.hpp"
#include "syclamp/scaling_policy.hpp"

namespace SYCLAMP_NAMESPACE {

/// \throws invalid_argument that names the option, its value and what is allowed
void check_options(const scaler_options& options, const scaling_policy& policy);

/// For `update(new_scale)`.
/// \throws invalid_argument if the policy does not allow the scale
void check_new_scale(float new_scale, const scaling_policy& policy);

/// For `set_policy`.
/// \throws invalid_argument if one of the policies is disabled and the other is not
void check_new_policy(const scaling_policy& next, const scaling_policy& policy);

/// For a joint step.
/// \throws invalid_argument if an optimizer is null or given twice
void check_optimizers(std::span<optimizer* const> optimizers);

}  // namespace SYCLAMP_NAMESPACE
