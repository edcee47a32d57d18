// SPDX-License-Identifier: Apache-2.0
// The notes of a run in its checkpoint, besides weights and scale: its options, and its results so far.
#pragma once

#include <string>
#include <string_view>

#include "apps/training/result.hpp"

namespace syclamp::training {

/// The options of a run. A run can only be resumed with the same options.
struct run_identity {
  std::string task, precision, scaling;
  std::uint64_t seed = 0, batch = 0;
  double init = 1.0, growth = 1.0, backoff = 1.0, min = 1.0, max = 1.0;  ///< of the scale
  std::uint32_t interval = 0, hysteresis = 0;
};

/// The size is bounded, however long the run was.
std::string notes_of(const run_identity& who, const run_result& so_far);

/// \throws invalid_argument if the notes are not whole, or of another run
run_result read_notes(std::string_view notes, const run_identity& who);

}  // namespace syclamp::training
