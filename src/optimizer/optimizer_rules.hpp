// SPDX-License-Identifier: Apache-2.0
// Turns the user's settings into hyper-parameters for kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "launch/operations.hpp"
#include "syclamp/export.hpp"
#include "syclamp/hyper_parameters.hpp"
#include "syclamp/optimizer_settings.hpp"

namespace SYCLAMP_NAMESPACE {

/// An optimizer as the host knows it.
struct optimizer_rule {
  std::string_view name;
  const launch::step_operation* step;
  hyper_parameters hyper;
  std::array<float, kernels::max_states> initial = {};  ///< value with which each moment begins

  // If it depends on norms of each tensor, what comes before the step.
  const launch::pieces_operation* pieces = nullptr;
  const launch::norms_operation* norms = nullptr;
  bool has_tensor_moments = false;  ///< it keeps one number per tensor between steps

  std::uint32_t states() const { return step->states; }
};

/// \throws invalid_argument that names the setting, its value and the remedy
optimizer_rule rule_of(const optimizer_settings& settings);

/// Settings whose kernel has these hyper-parameters: `settings` itself if it does. Otherwise its numbers are replaced
/// by the hyper-parameters, which are FP32.
optimizer_settings with_hyper(const optimizer_settings& settings, const hyper_parameters& hyper);

/// \throws invalid_argument unless it is finite and not negative
float checked_lr(std::string_view optimizer, double lr);

/// Checks hyper-parameters from a file: valid settings must be able to produce them.
/// \throws invalid_argument that names the optimizer, the hyper-parameter and its value
void check(std::string_view optimizer, const hyper_parameters& hyper);

/// \throws invalid_argument
void check(const lr_schedule& schedule);

}  // namespace SYCLAMP_NAMESPACE
