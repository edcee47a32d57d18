// SPDX-License-Identifier: Apache-2.0
/// \file
/// The state of a scaler as other frameworks save it.
#pragma once

#include <string>
#include <string_view>

#include <syclamp/export.hpp>
#include <syclamp/scaler_snapshot.hpp>

namespace SYCLAMP_NAMESPACE {

/// Frameworks whose checkpoints can be read and written, as JSON with their own key names.
///   pytorch    {scale, growth_factor, backoff_factor, growth_interval, _growth_tracker}
///   keras3     {step_counter, dynamic_scale, initial_scale, dynamic_growth_steps}
///   keras2     {current_loss_scale, good_steps}
///   apex       {loss_scaler0: {loss_scale, unskipped}, …}, one per scale
///   deepspeed  {dynamic_loss_scale, cur_scale, cur_iter, last_overflow_iter, cur_hysteresis, scale_factor,
///               scale_window, min_scale, delayed_shift, consecutive_hysteresis}
///   megatron   {scale, growth_tracker, hysteresis_tracker}
/// \throws invalid_argument if there is no such framework, or the text lacks a key or holds a value that cannot be
SYCLAMP_API std::string to_framework_state(const scaler_snapshot& snapshot, std::string_view framework);

/// The snapshot with the state that a framework has saved. What the framework does not save comes from `base`.
SYCLAMP_API scaler_snapshot from_framework_state(std::string_view text, std::string_view framework,
                                                 scaler_snapshot base);

}  // namespace SYCLAMP_NAMESPACE
