// SPDX-License-Identifier: Apache-2.0
/// \file
/// Offline simulation of policies on the host, with the same rules that run on devices.
#pragma once

#include <string_view>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/ledger.hpp>
#include <syclamp/scaler_snapshot.hpp>
#include <syclamp/scaling_policy.hpp>

namespace SYCLAMP_NAMESPACE {

/// The properties of a step's gradients that a policy uses.
struct simulated_step {
  std::uint32_t flags = found_nothing;  ///< OR of `gradient_flag` bits
  float amax = 0.0f;                    ///< largest absolute value of the scaled gradients; 0: unknown
};

/// The result of a simulated step.
struct simulated_result {
  float scale_before = 0, scale_after = 0;            ///< scale of this step and of the next
  step_outcome outcome = step_outcome::no_gradients;  ///< whether the step was applied, or why not
  step_status status = step_status::ok;               ///< a warning
};

/// Simulates one step with the first scale of a snapshot, and updates the snapshot.
SYCLAMP_API simulated_result simulate_step(scaler_snapshot& scaler, const simulated_step& step);

/// Reads a trace of steps: `.` clean, `i` Inf, `n` NaN. White space is ignored.
/// \throws invalid_argument that names the letter and its position, if there is any other letter
SYCLAMP_API std::vector<simulated_step> read_trace(std::string_view letters);

/// The result of applying a policy to a recorded run.
struct replay_report {
  std::uint64_t steps = 0;                ///< steps of the ledger that had gradients
  std::uint64_t skips = 0;                ///< skipped steps with the policy
  std::uint64_t recorded_skips = 0;       ///< skipped steps in the ledger
  double zero_share = 0;                  ///< share of gradients that were zero when they were recorded
  double subnormal_share = 0;             ///< share of gradients that were subnormal when they were recorded
  float final_scale = 0;                  ///< scale after the last step
  float max_safe_scale = 0;               ///< largest power of two with which no recorded step is known to overflow
  std::vector<simulated_result> results;  ///< one per step
};

/// Applies a policy to a recorded ledger. A step overflows if its largest gradient, rescaled to the policy's scale,
/// exceeds `amax_limit`. A recorded step with Inf or NaN overflows at its recorded scale and above, and counts as clean
/// below.
/// \param ledger  the records of a run, oldest first
/// \param policy  the policy to apply
SYCLAMP_API replay_report replay_ledger(const std::vector<ledger_entry>& ledger, const scaling_policy& policy);

}  // namespace SYCLAMP_NAMESPACE
