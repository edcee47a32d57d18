// SPDX-License-Identifier: Apache-2.0
/// \file
/// The state of a loss scale from step to step.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// A positive number with the precision of FP64: significand · 2^exponent, with the significand in [2^52, 2^53). It
/// replays frameworks that compute scales in FP64 on devices without FP64. A significand of 0 means the number 0.
struct scale_number {
  std::uint64_t significand = 0;  ///< 53 bits
  std::int32_t exponent = 0;      ///< binary exponent
  std::uint32_t unused = 0;       ///< instead of padding, because states are compared bit for bit
};

/// The state of one loss scale. A scaler keeps it in device memory. The policy decides which counters matter; all of
/// them are saved.
struct scale_state {
  scale_number exact;  ///< the scale
  scale_number next;   ///< the next scale, for policies that use a new scale one step late
  float scale = 1.0f;  ///< the scale as an FP32, by which losses are multiplied

  /// Clean steps since the last overflow or growth, as the policy counts (growth tracker).
  std::uint32_t clean_steps = 0;
  std::uint32_t tolerated = 0;           ///< overflows that hysteresis has tolerated so far
  std::uint32_t since_change = 0;        ///< steps since the scale last moved, for `tolerance`
  std::uint32_t overflows = 0;           ///< overflows among these steps
  std::uint32_t skips_in_a_row = 0;      ///< consecutive skipped steps, for any reason
  std::uint32_t nan_skips_in_a_row = 0;  ///< consecutive skipped steps with NaN but no Inf
  std::uint32_t retries_in_a_row = 0;    ///< consecutive retries of the same batch
  std::uint32_t has_overflowed = 0;      ///< 1 after the first overflow ever
  std::uint32_t stopped = 0;  ///< 1 after the policy has stopped: no step is applied until `loss_scaler::resume`

  float mean = 0;           ///< `log_max`: running mean of log2(amax)
  float slow_mean = 0;      ///< `log_max`: slow running mean of log2(amax)
  float slow_variance = 0;  ///< `log_max`: slow running variance of log2(amax)
  float mean_weight = 0;    ///< `log_max`: weight of all values in `mean`, where the latest value counts 1
  float slow_weight = 0;    ///< `log_max`: the same for `slow_mean` and `slow_variance`

  float norm_mean = 0;      ///< running mean of the norm, for `scaling_policy::spike_threshold`
  float norm_variance = 0;  ///< running variance of the norm
  std::uint32_t norms = 0;  ///< number of norms so far

  std::uint64_t attempted = 0;  ///< steps so far
  std::uint64_t applied = 0;    ///< of those, applied
  std::uint64_t skipped = 0;    ///< of those, skipped
};
static_assert(sizeof(scale_state) == 128, "no padding");

}  // namespace SYCLAMP_NAMESPACE
