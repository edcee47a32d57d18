// SPDX-License-Identifier: Apache-2.0
/// \file
/// Everything a loss scaler remembers, on the host: to save, to load, to move to another device or framework.
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

/// The complete state of a scaler: with it, another scaler takes the same decisions from here on.
struct SYCLAMP_API scaler_snapshot {
  scaling_policy policy;
  std::vector<scale_state> scales;   ///< one, or one for each group of tensors
  std::vector<ledger_entry> ledger;  ///< oldest first; files hold up to 2^20 of them

  /// A scaler that has done nothing yet.
  /// \throws invalid_argument if the policy is not valid
  static scaler_snapshot fresh(const scaling_policy& policy, std::size_t scales = 1);
};

/// JSON and back. The text has a version and is complete: every setting, every counter, the ledger. Texts of all
/// earlier versions are read.
/// \throws invalid_argument that says what is wrong, if the text is not whole, not a state, of a newer version, or
///         contradicts itself
SYCLAMP_API std::string to_json(const scaler_snapshot& snapshot);
SYCLAMP_API scaler_snapshot snapshot_from_json(std::string_view text);

/// Saves as JSON to a temporary name and renames: at any moment the old or the new file is there, whole.
/// \throws error that names the file and the reason; invalid_argument if the snapshot contradicts itself
SYCLAMP_API void save_snapshot(const scaler_snapshot& snapshot, const std::filesystem::path& file);

/// Loads a file that this version or an earlier one has saved.
/// \throws error that names the file and says what is wrong with it
SYCLAMP_API scaler_snapshot load_snapshot(const std::filesystem::path& file);

}  // namespace SYCLAMP_NAMESPACE
