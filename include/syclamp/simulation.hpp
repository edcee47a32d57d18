// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a policy would have done: offline, on the host, with the very rules that run on devices.
#pragma once

#include <string_view>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/ledger.hpp>
#include <syclamp/scaler_snapshot.hpp>
#include <syclamp/scaling_policy.hpp>

namespace SYCLAMP_NAMESPACE {

/// The gradients of a step, as far as a policy cares.
struct simulated_step {
  std::uint32_t flags = found_nothing;  ///< OR of `gradient_flag` bits
  float amax = 0.0f;                    ///< of the scaled gradients; 0: not known
};

/// What became of it.
struct simulated_result {
  float scale_before = 0, scale_after = 0;
  step_outcome outcome = step_outcome::no_gradients;
  step_status status = step_status::ok;
};

/// Closes one step of the snapshot's first scale.
SYCLAMP_API simulated_result simulate_step(scaler_snapshot& scaler, const simulated_step& step);

/// A trace: `.` clean, `i` Inf, `n` NaN; white space is passed over.
/// \throws invalid_argument with the letter and its place, if there is another
SYCLAMP_API std::vector<simulated_step> read_trace(std::string_view letters);

/// What a policy would have made of a recorded run.
struct replay_report {
  std::uint64_t steps = 0;           ///< those of the ledger that had gradients
  std::uint64_t skips = 0;           ///< with the policy
  std::uint64_t recorded_skips = 0;  ///< in the ledger
  double zero_share = 0;             ///< share of gradients that were zero when they were recorded
  double subnormal_share = 0;        ///< share that was subnormal: with fewer bits than the format has
  float final_scale = 0;
  float max_safe_scale = 0;               ///< largest power of two at which no step is known to have passed the limit
  std::vector<simulated_result> results;  ///< one a step
};

/// Replays a ledger: a step overflows if its largest gradient, unscaled as it was recorded and scaled as the policy has
/// it, is beyond the policy's limit. Steps that were not finite when they were recorded are known only to exceed it at
/// their scale: they overflow at that scale and above, and are taken for clean below.
SYCLAMP_API replay_report replay_ledger(const std::vector<ledger_entry>& ledger, const scaling_policy& policy);

}  // namespace SYCLAMP_NAMESPACE
