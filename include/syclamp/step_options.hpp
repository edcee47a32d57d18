// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a call of `loss_scaler` may do to gradients besides unscaling them.
#pragma once

#include <optional>

#include <syclamp/export.hpp>
#include <syclamp/scalar.hpp>

namespace SYCLAMP_NAMESPACE {

struct step_options {
  /// Clips the L2 norm of the unscaled gradients to this limit. Not given: no clipping. A value that is negative or NaN
  /// is refused. If a `device_value` is negative or NaN, the step is skipped with the status `invalid_number`.
  std::optional<scalar> max_norm = {};

  /// For a joint step of several optimizers: clips the gradients of each optimizer by their own norm. By default all of
  /// them are clipped by the norm over all gradients, as by one call of `clip_grad_norm_` for all parameters. With a
  /// consensus, a norm is over all ranks either way.
  bool clip_separately = false;
};

}  // namespace SYCLAMP_NAMESPACE
