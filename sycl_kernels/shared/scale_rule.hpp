// SPDX-License-Identifier: Apache-2.0
// How a scale moves, for every policy and every preset. Functions of the rule, the state and the flags of a step.
// Host code includes this file as well (offline simulation), so it knows nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/scaling_policy.hpp>
#include <syclamp/step_record.hpp>

#include "sycl_kernels/shared/maths.hpp"
#include "sycl_kernels/shared/scale_number.hpp"

namespace syclamp::kernels {

/// A policy as the device reads it: numbers are exact without FP64.
struct scaling_rule {
  scale_number growth;        ///< also the divisor of `backoff_by_growth`
  scale_number early_growth;  ///< `every_step`: until the first overflow
  scale_number backoff;
  scale_number min, max;
  scale_number tolerance;
  scaling_mode mode;
  growth_kind growth_mode;
  interval_test growth_test;
  bounds_kind bounds;
  scale_arithmetic arithmetic;
  hysteresis_kind hysteresis_mode;
  give_up_action on_give_up, on_floor;
  std::uint32_t backoff_by_growth;
  std::uint32_t one_step_late;
  std::uint32_t interval, hysteresis;
  std::uint32_t margin, max_jump;
  std::uint32_t nan_patience, give_up_after, retries;
  std::uint32_t spike_window;
  float spike_threshold;
  float amax_limit;
};

/// The properties of a step's gradients.
struct step_flags {
  std::uint32_t flags;   ///< OR of `gradient_flag` bits
  bool has_elements;     ///< false: there were no gradients
  bool norm_overflows;   ///< they were to be clipped by a norm that is not finite
  bool invalid_numbers;  ///< a number in device memory, such as a limit, cannot be used
};

/// The outcome of a step, before the scale moves. Weights change only if it is `applied`.
[[gnu::always_inline]] inline step_outcome decide(const scaling_rule& rule, const scale_state& state,
                                                  const step_flags& flags) {
  if (rule.mode == scaling_mode::disabled)
    return flags.invalid_numbers ? step_outcome::invalid_number : step_outcome::applied;
  if (state.stopped != 0) return step_outcome::stopped;
  if ((flags.flags & found_inf) != 0) return step_outcome::skipped_inf;
  if ((flags.flags & found_nan) != 0) return step_outcome::skipped_nan;
  if ((flags.flags & found_by_user) != 0) return step_outcome::skipped_by_user;
  if (flags.invalid_numbers) return step_outcome::invalid_number;
  if (flags.norm_overflows) return step_outcome::norm_overflow;
  return flags.has_elements ? step_outcome::applied : step_outcome::no_gradients;
}

/// One of two numbers, part by part: a choice between two structures would go through memory on a GPU.
[[gnu::always_inline]] inline scale_number chosen(bool first, const scale_number& a, const scale_number& b) {
  return {first ? a.significand : b.significand, first ? a.exponent : b.exponent};
}

/// A move's result in the precision in which the rule keeps its scale.
[[gnu::always_inline]] inline scale_number kept(const scaling_rule& rule, const scale_number& x) {
  return chosen(rule.arithmetic == scale_arithmetic::float64, x, rounded_to_float32(x));
}

[[gnu::always_inline]] inline scale_number at_least_min(const scaling_rule& rule, const scale_number& x) {
  return chosen(compare(x, rule.min) < 0, rule.min, x);
}

[[gnu::always_inline]] inline scale_number at_most_max(const scaling_rule& rule, const scale_number& x) {
  return chosen(compare(x, rule.max) > 0, rule.max, x);
}

[[gnu::always_inline]] inline scale_number grown(const scaling_rule& rule, const scale_number& from,
                                                 const scale_number& factor) {
  const scale_number product = multiply(from, factor);
  if (rule.bounds == bounds_kind::keep || rule.bounds == bounds_kind::refuse)
    return chosen(compare(rounded_to_float32(product), largest_scale) > 0, from,
                  kept(rule, at_most_max(rule, product)));
  const scale_number bounded = kept(rule, at_most_max(rule, product));
  return chosen(rule.bounds == bounds_kind::clamp, at_least_min(rule, bounded), bounded);
}

[[gnu::always_inline]] inline scale_number shrunk(const scaling_rule& rule, const scale_number& from) {
  const scale_number next =
      kept(rule, chosen(rule.backoff_by_growth != 0, divide(from, rule.growth), multiply(from, rule.backoff)));
  if (rule.bounds == bounds_kind::refuse) return chosen(compare(next, rule.min) <= 0, from, next);
  const scale_number bounded = at_least_min(rule, next);
  return chosen(rule.bounds == bounds_kind::clamp, at_most_max(rule, bounded), bounded);
}

/// Counts a clean step; true if it makes the scale grow.
[[gnu::always_inline]] inline bool counts_to_growth(const scaling_rule& rule, scale_state& state) {
  const std::uint32_t count = ++state.clean_steps;
  const bool is_due = rule.growth_test == interval_test::at_least    ? count >= rule.interval
                      : rule.growth_test == interval_test::multiple  ? count % rule.interval == 0
                      : rule.growth_test == interval_test::one_later ? count > 1 && (count - 1) % rule.interval == 0
                                                                     : count == rule.interval;
  if (rule.growth_test == interval_test::wrapping) {
    state.clean_steps = count % rule.interval;
  } else if (is_due && (rule.growth_test == interval_test::at_least || rule.growth_test == interval_test::equal)) {
    state.clean_steps = 0;
  }
  return is_due;
}

/// How many times gradients whose largest is `amax` can be doubled, less the margin.
[[gnu::always_inline]] inline std::uint32_t doublings(const scaling_rule& rule, float amax) {
  const std::uint32_t most = rule.max_jump + rule.margin;
  std::uint32_t room = 0;
  for (float next = amax * 2.0f; amax > 0.0f && room < most && next <= rule.amax_limit; next *= 2.0f) ++room;
  return room > rule.margin ? room - rule.margin : 0;
}

/// The statistical policy: a scale at which gradients 3.09 deviations above the mean still fit. An overflow counts as a
/// gradient at the limit.
[[gnu::always_inline]] inline scale_number follow_maximum(const scaling_rule& rule, scale_state& state,
                                                          const scale_number& from, bool overflowed, float amax) {
  constexpr float fast = 0.99f, slow = 0.999f, deviations = 3.09f, log_limit = 16.0f;
  const float unscaled = amax / to_float(from);
  if (!overflowed && !(unscaled >= 0x1p-126f)) return from;  // all gradients are zero, so they give no information
  const float x = overflowed ? log_limit : log2_of(unscaled);
  // Averages over all values so far, each weighing `fast` or `slow` times as much as the one after it. In this form
  // nothing cancels.
  state.mean_weight = 1.0f + fast * state.mean_weight;
  state.slow_weight = 1.0f + slow * state.slow_weight;
  const float share = 1.0f / state.slow_weight, above = x - state.slow_mean;
  state.mean += (x - state.mean) / state.mean_weight;
  state.slow_mean += share * above;
  state.slow_variance = (1.0f - share) * (state.slow_variance + share * above * above);
  const float exponent = log_limit - (state.mean + deviations * root_of(state.slow_variance));
  const float proposed = exp2_of(exponent < -125.0f ? -125.0f : exponent > 127.0f ? 127.0f : exponent);
  return at_most_max(rule, at_least_min(rule, from_float(proposed)));
}

/// The policy's decision on a step.
struct decision {
  step_outcome outcome;
  step_status status;
  bool hold;  ///< a smaller scale would not help
};

/// The warning that follows from the outcome alone.
[[gnu::always_inline]] inline step_status status_of(step_outcome outcome) {
  return outcome == step_outcome::norm_overflow    ? step_status::norm_overflow
         : outcome == step_outcome::invalid_number ? step_status::invalid_number
         : outcome == step_outcome::stopped        ? step_status::stopped
                                                   : step_status::ok;
}

[[gnu::always_inline]] inline void give_up(decision& result, scale_state& state, step_status why,
                                           give_up_action action) {
  result.status = why;
  if (action != give_up_action::keep) result.hold = true;
  if (action == give_up_action::stop) state.stopped = 1;
}

/// The scale after an overflow.
[[gnu::always_inline]] inline scale_number after_overflow(const scaling_rule& rule, scale_state& state,
                                                          const scale_number& from, float amax, decision& result) {
  state.clean_steps = 0;
  state.has_overflowed = 1;
  ++state.overflows;
  if (rule.growth_mode == growth_kind::log_max) return follow_maximum(rule, state, from, true, amax);
  if (result.hold) return from;
  if (state.tolerated + 1 < rule.hysteresis) {  // this overflow is tolerated
    ++state.tolerated;
    return from;
  }
  if (rule.hysteresis_mode == hysteresis_kind::consecutive_anew || rule.hysteresis_mode == hysteresis_kind::accumulated)
    state.tolerated = 0;
  if (compare(divide(from_integer(state.overflows), from_integer(state.since_change)), rule.tolerance) < 0) return from;
  state.since_change = 0;
  state.overflows = 0;
  const scale_number next = shrunk(rule, from);
  if (compare(next, from) >= 0) give_up(result, state, step_status::at_floor, rule.on_floor);
  return next;
}

/// The scale after a step without overflow.
[[gnu::always_inline]] inline scale_number after_clean_step(const scaling_rule& rule, scale_state& state,
                                                            const scale_number& from, float amax) {
  if (rule.hysteresis_mode == hysteresis_kind::consecutive || rule.hysteresis_mode == hysteresis_kind::consecutive_anew)
    state.tolerated = 0;
  if (rule.growth_mode == growth_kind::log_max) return follow_maximum(rule, state, from, false, amax);
  if (rule.growth_mode == growth_kind::every_step)
    return grown(rule, from, chosen(state.has_overflowed != 0, rule.growth, rule.early_growth));
  scale_number factor = rule.growth;
  if (rule.growth_mode == growth_kind::headroom) {
    const std::uint32_t jump = doublings(rule, amax);
    if (jump == 0) return from;
    factor = from_integer(1u << jump);
  } else if (!counts_to_growth(rule, state)) {
    return from;
  }
  state.tolerated = 0;
  state.since_change = 0;
  return grown(rule, from, factor);
}

/// Moves the scale according to `outcome`, the result of `decide`, and counts skips according to what happened to the
/// step.
[[gnu::always_inline]] inline decision advance(const scaling_rule& rule, scale_state& state, step_outcome outcome,
                                               bool is_skipped, float amax) {
  decision result{outcome, status_of(outcome), false};
  const bool overflowed = outcome == step_outcome::skipped_inf || outcome == step_outcome::skipped_nan;
  const bool is_clean = outcome == step_outcome::applied;
  ++state.attempted;
  if (is_clean || overflowed)
    state.nan_skips_in_a_row = outcome == step_outcome::skipped_nan ? state.nan_skips_in_a_row + 1 : 0;
  if (outcome != step_outcome::no_gradients) state.skips_in_a_row = is_skipped ? state.skips_in_a_row + 1 : 0;
  if (overflowed && rule.nan_patience != 0 && state.nan_skips_in_a_row > rule.nan_patience) {
    result.status = step_status::nan_persistent;
    result.hold = true;
  }
  if (rule.give_up_after != 0 && is_skipped && state.skips_in_a_row >= rule.give_up_after && state.stopped == 0)
    give_up(result, state, step_status::too_many_skips, rule.on_give_up);

  if (rule.mode == scaling_mode::dynamic && (overflowed || is_clean)) {
    const scale_number from = chosen(rule.one_step_late != 0, state.next, state.exact);
    ++state.since_change;
    state.next =
        overflowed ? after_overflow(rule, state, from, amax, result) : after_clean_step(rule, state, from, amax);
    state.exact = chosen(rule.one_step_late != 0, from, state.next);
    state.scale = to_float(state.exact);
  }
  if (overflowed && result.hold) result.outcome = step_outcome::skipped_scale_held;
  return result;
}

/// Sets the caller's scale instead of the rule's. The rule's counters do not change.
[[gnu::always_inline]] inline decision set_scale(scale_state& state, step_outcome outcome, float scale) {
  ++state.attempted;
  state.exact = state.next = from_float(scale);
  state.scale = scale;
  return {outcome, status_of(outcome), false};
}

/// Counts applied and skipped steps.
[[gnu::always_inline]] inline void count(scale_state& state, step_outcome outcome) {
  if (outcome == step_outcome::applied) {
    ++state.applied;
  } else if (outcome != step_outcome::accumulated && outcome != step_outcome::no_gradients) {
    ++state.skipped;
  }
}

/// Whether the batch of a skipped step is to be tried again.
[[gnu::always_inline]] inline bool asks_for_retry(const scaling_rule& rule, scale_state& state, step_outcome outcome) {
  const bool overflowed = outcome == step_outcome::skipped_inf || outcome == step_outcome::skipped_nan;
  const bool again = overflowed && state.retries_in_a_row < rule.retries;
  state.retries_in_a_row = again ? state.retries_in_a_row + 1 : 0;
  return again;
}

/// Whether a value is far above its running mean; then enters it into the mean. A value that is not finite is far above
/// and is not entered.
[[gnu::always_inline]] inline bool is_spike(float value, float threshold, std::uint32_t window, float& mean,
                                            float& variance, std::uint32_t& count) {
  if (!is_finite(value)) return true;
  const float above = value - mean;
  if (above * above > 0x1p126f) return above > 0.0f && count >= window;  // the variance would overflow
  const bool is_far = count >= window && above > 0.0f && above * above > threshold * threshold * variance;
  if (count < window) ++count;
  const float weight = 1.0f / static_cast<float>(count);
  mean += weight * above;
  variance = (1.0f - weight) * (variance + weight * above * above);
  return is_far;
}

}  // namespace syclamp::kernels
