// SPDX-License-Identifier: Apache-2.0
/// \file
/// The progress of an optimizer, which the host reads without a wait.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// The steps that the device has finished so far. Use these numbers for schedules, moving averages and logs of a
/// training loop. Steps that are submitted but not finished do not count.
struct optimizer_progress {
  bool last_was_applied = false;  ///< the last finished step was applied, not skipped
  std::uint64_t finished = 0;     ///< steps since the optimizer was made, or its checkpoint was loaded
  std::uint64_t applied = 0;      ///< applied steps, those before a checkpoint included
};

}  // namespace SYCLAMP_NAMESPACE
