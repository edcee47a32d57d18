// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a loss scale moves. A policy is plain data; docs/policies.md helps to choose one.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

enum class scaling_mode : std::uint32_t {
  dynamic,   ///< the scale follows the gradients
  fixed,     ///< the scale stays; steps with Inf or NaN are skipped all the same
  disabled,  ///< no scale, nothing is looked for, every step is applied: the same code path with scaling off
};

/// What makes a scale grow.
enum class growth_kind : std::uint32_t {
  interval,    ///< enough clean steps
  every_step,  ///< each clean step by growth^(1/interval); until the first overflow ever, each by growth
  headroom,    ///< each clean step by the largest power of two that leaves `margin` doublings free
  log_max,     ///< no counting: the scale follows mean and deviation of log2(amax)
};

/// How clean steps are compared with the interval.
enum class interval_test : std::uint32_t {
  at_least,   ///< counter >= interval, then from 0
  equal,      ///< counter == interval, then from 0: an interval that is lowered below the counter stops growth
  wrapping,   ///< counter == interval; the counter is kept modulo the interval
  multiple,   ///< every interval-th clean step since the last overflow
  one_later,  ///< the same, the first clean step not counted
};

/// Which overflows hysteresis counts. All of them back off at the n-th, with n = `scaling_policy::hysteresis`.
enum class hysteresis_kind : std::uint32_t {
  consecutive,        ///< since the last clean step; from the n-th on, each one backs off
  consecutive_anew,   ///< since the last clean step or backoff: every n-th backs off
  per_growth_window,  ///< since the last growth, clean steps in between or not; from the n-th on, each one backs off
  accumulated,        ///< since the scale last moved, clean steps in between or not
};

/// What happens to a scale at its limits.
enum class bounds_kind : std::uint32_t {
  clamp,        ///< it stays in [min, max]
  clamp_moves,  ///< growth goes to max at most and backoff to min at least; a scale from outside may stay there
  keep,         ///< growth that would pass the largest FP32 does not happen; else as above
  refuse,       ///< as `keep`, and backoff that would reach min does not happen either
};

/// In which arithmetic the scale is kept and multiplied: it decides the last bit where a factor is no power of two.
enum class scale_arithmetic : std::uint32_t {
  float32,         ///< everything in FP32
  float32_scaled,  ///< the scale in FP32, factors and products in FP64
  float64,         ///< everything in FP64; losses are multiplied by the scale rounded to FP32
};

/// What a policy does when it has had enough. The status tells in any case; nothing throws.
enum class give_up_action : std::uint32_t {
  keep,  ///< go on as before
  hold,  ///< leave the scale where it is until a clean step
  stop,  ///< apply nothing any more, until `loss_scaler::resume`
};

/// Habits of other frameworks. A policy needs them only to replay such a framework bit for bit.
struct replay_options {
  interval_test growth_test = interval_test::at_least;
  bounds_kind bounds = bounds_kind::clamp;
  scale_arithmetic arithmetic = scale_arithmetic::float32;
  bool backoff_by_growth = false;  ///< back off by dividing by `growth_factor`; `backoff_factor` is not used
  bool one_step_late = false;      ///< a new scale is used by the loss after the next one
};

/// How a loss scale moves.
///
/// The defaults are syclamp's own: PyTorch's numbers with a floor and a ceiling, powers of two only, and NaN told apart
/// from overflow. `scaling_preset` has the policies of other frameworks.
struct SYCLAMP_API scaling_policy {
  scaling_mode mode = scaling_mode::dynamic;

  double init_scale = 65536.0;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::uint32_t growth_interval = 2000;  ///< clean steps before the scale grows
  double min = 0x1p-14;
  double max = 0x1p24;
  bool power_of_two = true;  ///< insist on powers of two, with which unscaling is exact

  growth_kind growth_mode = growth_kind::interval;

  std::uint32_t hysteresis = 1;  ///< back off at this overflow; 1 is at once
  hysteresis_kind hysteresis_mode = hysteresis_kind::consecutive;
  double tolerance = 0.0;  ///< back off only if at least this share of steps since the scale moved overflowed

  double amax_limit = 65504.0;  ///< largest gradient for which there is room, scaled; whatever type they are stored in
  std::uint32_t margin = 1;     ///< `headroom`: doublings that are left free
  std::uint32_t max_jump = 4;   ///< `headroom`: most doublings in a step

  /// NaN without Inf backs off like Inf for so many skips in a row (in FP16, Inf - Inf makes NaN an ordinary symptom of
  /// overflow); then the scale is held, and the status is `nan_persistent`. 0: NaN is Inf.
  std::uint32_t nan_patience = 16;

  std::uint32_t give_up_after = 0;  ///< skips in a row; 0: never
  give_up_action on_give_up = give_up_action::keep;
  give_up_action on_floor = give_up_action::keep;  ///< an overflow with the scale at `min`

  /// Skips a step whose norm is so many standard deviations above its running mean, as if the caller had asked for it
  /// (`step_outcome::skipped_by_user`). 0: off. For one optimizer: the mean is one for all. The mean goes over about
  /// `spike_window` steps, and needs so many to begin with.
  double spike_threshold = 0.0;
  std::uint32_t spike_window = 128;

  std::uint32_t retries = 0;   ///< how often the same batch is asked for again after an overflow
  bool clear_on_skip = false;  ///< zero the gradients of a skipped step

  replay_options replay = {};  ///< leave the defaults, unless another framework is replayed

  /// Checks every field.
  /// \throws invalid_argument that names the field, its value and what it may be
  void validate() const;
};

}  // namespace SYCLAMP_NAMESPACE
