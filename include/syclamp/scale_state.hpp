// SPDX-License-Identifier: Apache-2.0
/// \file
/// All that a loss scale remembers from step to step.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// A positive number as exact as an FP64, without being one: significand · 2^exponent, the significand in
/// [2^52, 2^53). Frameworks whose scale is an FP64, or is multiplied by one, can so be replayed on devices without
/// FP64. A significand of 0 is the number 0.
struct scale_number {
  std::uint64_t significand = 0;
  std::int32_t exponent = 0;
  std::uint32_t unused = 0;  ///< no padding: states are compared bit by bit
};

/// The state of one loss scale, in device memory while a scaler lives. Which of the counters matter depends on the
/// policy; all of them are saved.
struct scale_state {
  scale_number exact;  ///< the scale
  scale_number next;   ///< the scale to come, for policies that use a new scale one step late
  float scale = 1.0f;  ///< the scale as an FP32: what losses are multiplied by

  std::uint32_t clean_steps = 0;         ///< since the last overflow or growth, as the policy counts (growth tracker)
  std::uint32_t tolerated = 0;           ///< overflows that hysteresis has let pass so far
  std::uint32_t since_change = 0;        ///< steps since the scale last moved, for `tolerance`
  std::uint32_t overflows = 0;           ///< of those, overflows
  std::uint32_t skips_in_a_row = 0;      ///< for whatever reason
  std::uint32_t nan_skips_in_a_row = 0;  ///< with NaN, but no Inf
  std::uint32_t retries_in_a_row = 0;    ///< of the same batch
  std::uint32_t has_overflowed = 0;      ///< 1 after the first overflow ever
  std::uint32_t stopped = 0;             ///< 1 after the policy has given up: no step is applied any more

  // Running averages of log2(amax), for the policy `log_max`.
  float mean = 0, slow_mean = 0, slow_variance = 0;
  float mean_weight = 0, slow_weight = 0;  ///< of all values so far, the latest one counting 1

  // Running mean and variance of the norm, for `scaling_policy::spike_threshold`.
  float norm_mean = 0, norm_variance = 0;
  std::uint32_t norms = 0;  ///< how many norms there were

  std::uint64_t attempted = 0;  ///< steps so far
  std::uint64_t applied = 0;    ///< of those, applied
  std::uint64_t skipped = 0;    ///< of those, skipped
};
static_assert(sizeof(scale_state) == 128, "no padding");

}  // namespace SYCLAMP_NAMESPACE
