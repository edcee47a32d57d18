// SPDX-License-Identifier: Apache-2.0
/// \file
/// The complete state of a loss scaler on the host: to save, to load, or to move to another device or framework.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/ledger.hpp>
#include <syclamp/scale_state.hpp>
#include <syclamp/scaling_policy.hpp>

namespace SYCLAMP_NAMESPACE {

/// The complete state of a scaler. A scaler that loads it takes the same decisions from then on.
struct SYCLAMP_API scaler_snapshot {
  scaling_policy policy;             ///< how the scales move
  std::vector<scale_state> scales;   ///< one, or one per group of tensors
  std::vector<ledger_entry> ledger;  ///< records, oldest first; a file holds up to 2^20

  /// The state of a new scaler.
  /// \param policy  how the scales move
  /// \param scales  number of scales
  /// \throws invalid_argument if the policy is invalid, or the number of scales is 0 or too large
  static scaler_snapshot fresh(const scaling_policy& policy, std::size_t scales = 1);
};

/// Converts a snapshot to JSON. The text has a version and holds every setting, every counter and the ledger.
/// \throws invalid_argument if the snapshot contradicts itself
SYCLAMP_API std::string to_json(const scaler_snapshot& snapshot);
/// Reads a snapshot from JSON. Texts of all earlier versions are accepted.
/// \throws invalid_argument that names the field, if the text is incomplete, not a state, of a newer version, or
///         contradicts itself
SYCLAMP_API scaler_snapshot snapshot_from_json(std::string_view text);

/// Saves a snapshot as a JSON file. The file is replaced atomically: at any moment either the complete old file or the
/// complete new file exists.
/// \throws file_error that names the file and the reason
/// \throws invalid_argument if the snapshot contradicts itself
SYCLAMP_API void save_snapshot(const scaler_snapshot& snapshot, const std::filesystem::path& file);

/// Loads a snapshot that this version or an earlier one has saved.
/// \throws file_error that names the file and the problem
SYCLAMP_API scaler_snapshot load_snapshot(const std::filesystem::path& file);

}  // namespace SYCLAMP_NAMESPACE
