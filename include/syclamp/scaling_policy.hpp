// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scaling policies: how a loss scale moves. A policy is plain data; docs/policies.md helps to choose one.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Whether and how losses are scaled.
enum class scaling_mode : std::uint32_t {
  dynamic,   ///< the scale adapts to the gradients
  fixed,     ///< the scale does not change; steps with Inf or NaN are skipped
  disabled,  ///< the scale is 1, gradients are not inspected, and every step is applied
};

/// When and by how much a scale grows.
enum class growth_kind : std::uint32_t {
  interval,    ///< by growth_factor after growth_interval clean steps
  every_step,  ///< each clean step by growth_factor^(1/growth_interval); before the first overflow, each by
               ///< growth_factor
  headroom,    ///< each clean step by the largest power of two that leaves `margin` doublings free
  log_max,     ///< the scale follows the mean and the deviation of log2(amax)
};

/// How the count of clean steps is compared with the interval.
enum class interval_test : std::uint32_t {
  at_least,   ///< counter >= interval; then the counter restarts at 0
  equal,      ///< counter == interval; then the counter restarts at 0. Lowering the interval below the counter stops
              ///< growth.
  wrapping,   ///< counter == interval; the counter is kept modulo the interval
  multiple,   ///< every interval-th clean step since the last overflow
  one_later,  ///< the same, without counting the first clean step
};

/// Which overflows hysteresis counts. The scale backs off at the n-th, with n = `scaling_policy::hysteresis`.
enum class hysteresis_kind : std::uint32_t {
  consecutive,        ///< since the last clean step; from the n-th on, each one backs off
  consecutive_anew,   ///< since the last clean step or backoff: every n-th backs off
  per_growth_window,  ///< since the last growth, regardless of clean steps in between; from the n-th on, each one backs
                      ///< off
  accumulated,        ///< since the scale last moved, regardless of clean steps in between
};

/// How a scale behaves at its bounds.
enum class bounds_kind : std::uint32_t {
  clamp,        ///< the scale stays in [min, max]
  clamp_moves,  ///< growth stops at max and backoff at min, but a scale outside [min, max] may stay there
  keep,         ///< growth beyond the largest FP32 does not happen; otherwise like `clamp_moves`
  refuse,       ///< like `keep`, and backoff that would reach min does not happen
};

/// The arithmetic of the scale. It affects the last bit if a factor is not a power of two.
enum class scale_arithmetic : std::uint32_t {
  float32,         ///< everything in FP32
  float32_scaled,  ///< the scale in FP32, factors and products in FP64
  float64,         ///< everything in FP64; losses are multiplied by the scale rounded to FP32
};

/// What a policy does when it gives up. The status reports it; nothing throws.
enum class give_up_action : std::uint32_t {
  keep,  ///< continues as before
  hold,  ///< holds the scale until a clean step
  stop,  ///< applies no step until `loss_scaler::resume`
};

/// Options that only serve to replay other frameworks bit for bit.
struct replay_options {
  interval_test growth_test = interval_test::at_least;      ///< when the interval is over
  bounds_kind bounds = bounds_kind::clamp;                  ///< behaviour at min and max
  scale_arithmetic arithmetic = scale_arithmetic::float32;  ///< precision of the scale
  bool backoff_by_growth = false;  ///< backs off by dividing by `growth_factor`; `backoff_factor` is not used
  bool one_step_late = false;      ///< a new scale takes effect one step late
};

/// A scaling policy: how a loss scale moves.
///
/// The defaults are syclamp's own: PyTorch's numbers with a floor and a ceiling, powers of two only, and NaN treated
/// apart from overflow. `scaling_preset` returns the policies of other frameworks.
struct SYCLAMP_API scaling_policy {
  scaling_mode mode = scaling_mode::dynamic;  ///< dynamic, fixed or disabled

  double init_scale = 65536.0;           ///< initial scale
  double growth_factor = 2.0;            ///< factor of growth, above 1
  double backoff_factor = 0.5;           ///< factor after an overflow, below 1
  std::uint32_t growth_interval = 2000;  ///< clean steps until the scale grows
  double min = 0x1p-14;                  ///< smallest scale
  double max = 0x1p24;                   ///< largest scale
  bool power_of_two = true;              ///< requires powers of two, with which unscaling is exact

  growth_kind growth_mode = growth_kind::interval;  ///< when and by how much the scale grows

  std::uint32_t hysteresis = 1;                                    ///< backs off at this overflow; 1: at the first
  hysteresis_kind hysteresis_mode = hysteresis_kind::consecutive;  ///< which overflows hysteresis counts
  double tolerance = 0.0;  ///< backs off only if at least this share of the steps since the last move overflowed

  double amax_limit = 65504.0;  ///< largest scaled gradient that fits, for headroom; default: largest FP16 number
  std::uint32_t margin = 1;     ///< `headroom`: doublings that are left free
  std::uint32_t max_jump = 4;   ///< `headroom`: largest number of doublings per step

  /// Number of consecutive skips with NaN but no Inf for which the scale backs off as for Inf. (In FP16, Inf - Inf
  /// makes NaN a normal symptom of overflow.) After that the scale is held, and the status is `nan_persistent`. 0: NaN
  /// is always treated like Inf.
  std::uint32_t nan_patience = 16;

  std::uint32_t give_up_after = 0;                   ///< gives up after this many consecutive skips; 0: never
  give_up_action on_give_up = give_up_action::keep;  ///< what happens then
  give_up_action on_floor = give_up_action::keep;    ///< what happens at an overflow with the scale at `min`

  /// Skips a step whose gradient norm is more than this many standard deviations above its running mean, with the
  /// outcome `step_outcome::skipped_by_user`. 0: off. There is one mean per scaler, so use it with one optimizer.
  double spike_threshold = 0.0;
  std::uint32_t spike_window = 128;  ///< approximate length of the running mean in steps; the test starts after as many

  std::uint32_t retries = 0;   ///< how often the same batch may be retried after an overflow
  bool clear_on_skip = false;  ///< sets the gradients of a skipped step to zero

  replay_options replay = {};  ///< only for replaying other frameworks

  /// Checks every field.
  /// \throws invalid_argument that names the field, its value and the allowed values
  void validate() const;
};

}  // namespace SYCLAMP_NAMESPACE
