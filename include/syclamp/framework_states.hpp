// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scaler states in the checkpoint formats of other frameworks.
#pragma once

#include <string>
#include <string_view>

#include <syclamp/export.hpp>
#include <syclamp/scaler_snapshot.hpp>

namespace SYCLAMP_NAMESPACE {

/// Converts a snapshot to the state of another framework, as JSON with that framework's key names.
///
/// Supported frameworks and their keys:
///   pytorch    {scale, growth_factor, backoff_factor, growth_interval, _growth_tracker}
///   keras3     {step_counter, dynamic_scale, initial_scale, dynamic_growth_steps}
///   keras2     {current_loss_scale, good_steps}
///   apex       {loss_scaler0: {loss_scale, unskipped}, …}, one per scale
///   deepspeed  {dynamic_loss_scale, cur_scale, cur_iter, last_overflow_iter, cur_hysteresis, scale_factor,
///               scale_window, min_scale, delayed_shift, consecutive_hysteresis}
///   megatron   {scale, growth_tracker, hysteresis_tracker}
///
/// \param snapshot   the state of a syclamp scaler
/// \param framework  one of the names above
/// \return the text of a JSON object
/// \throws invalid_argument if the framework is not supported, or cannot represent the state
SYCLAMP_API std::string to_framework_state(const scaler_snapshot& snapshot, std::string_view framework);

/// Converts the saved state of another framework to a snapshot.
/// \param text       the text of a JSON object with the keys above
/// \param framework  one of the names above
/// \param base       a snapshot that provides everything that the framework does not save
/// \return the snapshot, from which a scaler continues as the framework would have
/// \throws invalid_argument if the framework is not supported, a key is missing, or a value is invalid
SYCLAMP_API scaler_snapshot from_framework_state(std::string_view text, std::string_view framework,
                                                 scaler_snapshot base);

}  // namespace SYCLAMP_NAMESPACE
