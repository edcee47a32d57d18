// SPDX-License-Identifier: Apache-2.0
/// \file
/// Options of the calls of `loss_scaler`.
#pragma once

#include <optional>

#include <syclamp/export.hpp>
#include <syclamp/scalar.hpp>

namespace SYCLAMP_NAMESPACE {

/// Clipping options of a step.
struct step_options {
  /// Clips the L2 norm of the unscaled gradients to this limit. Default: no clipping. A value that is negative or NaN
  /// throws invalid_argument. If a `device_value` is negative or NaN, the step is skipped with the status
  /// `invalid_number`.
  std::optional<scalar> max_norm = {};

  /// For a joint step of several optimizers: clips the gradients of each optimizer by their own norm. Default: all are
  /// clipped by the norm over all gradients, like one call of `clip_grad_norm_` for all parameters. With a consensus,
  /// norms are over all ranks in both cases.
  bool clip_separately = false;
};

}  // namespace SYCLAMP_NAMESPACE
