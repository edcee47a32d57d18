// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything a loss scaler remembers, on the host: to save, to load, to move to another device or framework.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <syclamp/ledger.hpp>
#include <syclamp/scale_state.hpp>
#include <syclamp/scaling_policy.hpp>

namespace syclamp {

/// The complete state of a scaler: with it, another scaler takes the same decisions from here on.
struct scaler_snapshot {
  scaling_policy policy;
  std::vector<scale_state> scales;   ///< one, or one for each group of tensors
  std::vector<ledger_entry> ledger;  ///< oldest first; files hold up to 2^20 of them

  /// A scaler that has done nothing yet.
  /// \throws invalid_argument if the policy is not valid
  static scaler_snapshot fresh(const scaling_policy& policy, std::size_t scales = 1);
};

/// Text and back. The text is versioned, and complete: every setting, every counter, the ledger.
/// \throws invalid_argument that says what is wrong, if the text is not whole, not a state, of a newer version, or
///         contradicts itself
std::string to_json(const scaler_snapshot& snapshot);
scaler_snapshot snapshot_from_json(std::string_view text);

/// Forms of a state file.
enum class state_format {
  json,   ///< to read and edit
  binary  ///< smaller, with a checksum
};

/// Saves to a temporary name and renames: at any moment the old or the new file is there, whole.
/// \throws error that names the file and the reason; invalid_argument if the snapshot contradicts itself
void save(const scaler_snapshot& snapshot, const std::filesystem::path& file, state_format format = state_format::json);

/// Loads either format.
/// \throws error that names the file and says what is wrong with it
scaler_snapshot load_snapshot(const std::filesystem::path& file);

/// Frameworks whose checkpoints can be read and written, as JSON with their own key names.
///   pytorch    {scale, growth_factor, backoff_factor, growth_interval, _growth_tracker}
///   keras3     {step_counter, dynamic_scale, initial_scale, dynamic_growth_steps}
///   keras2     {current_loss_scale, good_steps}
///   apex       {loss_scaler0: {loss_scale, unskipped}, …}, one a scale
///   deepspeed  {dynamic_loss_scale, cur_scale, cur_iter, last_overflow_iter, cur_hysteresis, scale_factor,
///   scale_window,
///              min_scale, delayed_shift, consecutive_hysteresis}
///   megatron   {scale, growth_tracker, hysteresis_tracker}
/// \throws invalid_argument if there is no such framework, or the text lacks a key or holds a value that cannot be
std::string to_peer_state(const scaler_snapshot& snapshot, std::string_view framework);

/// The snapshot with the state that a framework has saved. What the framework does not save comes from `base`.
scaler_snapshot from_peer_state(std::string_view text, std::string_view framework, scaler_snapshot base);

}  // namespace syclamp
