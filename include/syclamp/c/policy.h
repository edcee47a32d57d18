// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: scaling policies, the presets of other frameworks, and simulation on the host.
#ifndef SYCLAMP_C_POLICY_H
#define SYCLAMP_C_POLICY_H

#include <syclamp/c/base.h>
#include <syclamp/c/step_record.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Whether and how losses are scaled: field `mode`.
enum {
  SYCLAMP_DYNAMIC = 0,  ///< the scale adapts to the gradients
  SYCLAMP_FIXED = 1,    ///< the scale does not change; steps with Inf or NaN are skipped
  SYCLAMP_DISABLED = 2  ///< the scale is 1, and every step is applied without an inspection
};
/// When and by how much a scale grows: field `growth_mode`.
enum {
  SYCLAMP_GROW_AT_INTERVAL = 0,  ///< by `growth_factor` after `growth_interval` clean steps
  SYCLAMP_GROW_EVERY_STEP = 1,   ///< each clean step by growth_factor^(1/growth_interval)
  SYCLAMP_GROW_BY_HEADROOM = 2,  ///< each clean step by the largest power of two that leaves `margin` doublings free
  SYCLAMP_GROW_BY_LOG_MAX = 3    ///< follows the mean and the deviation of log2(amax)
};
/// Which overflows hysteresis counts: field `hysteresis_mode`. Of these, the scale backs off at the n-th, with
/// n = `hysteresis`.
enum {
  SYCLAMP_HYSTERESIS_CONSECUTIVE = 0,        ///< since the last clean step; each from the n-th on
  SYCLAMP_HYSTERESIS_CONSECUTIVE_ANEW = 1,   ///< since the last clean step or backoff; every n-th
  SYCLAMP_HYSTERESIS_PER_GROWTH_WINDOW = 2,  ///< since the last growth, across clean steps; each from the n-th on
  SYCLAMP_HYSTERESIS_ACCUMULATED = 3         ///< since the scale last moved, across clean steps; every n-th
};
/// What a policy does when it gives up: fields `on_give_up` and `on_floor`.
enum {
  SYCLAMP_GIVE_UP_KEEP = 0,  ///< continues as before
  SYCLAMP_GIVE_UP_HOLD = 1,  ///< holds the scale until a clean step
  SYCLAMP_GIVE_UP_STOP = 2   ///< applies no step until `syclamp_scaler_resume`
};
/// How clean steps are compared with the interval: field `replay_growth_test`.
enum {
  SYCLAMP_INTERVAL_AT_LEAST = 0,  ///< counter >= interval; then the counter restarts at 0
  SYCLAMP_INTERVAL_EQUAL = 1,     ///< counter == interval; then the counter restarts at 0
  SYCLAMP_INTERVAL_WRAPPING = 2,  ///< counter == interval; the counter is kept modulo the interval
  SYCLAMP_INTERVAL_MULTIPLE = 3,  ///< every interval-th clean step since the last overflow
  SYCLAMP_INTERVAL_ONE_LATER = 4  ///< the same, without counting the first clean step
};
/// How a scale behaves at its bounds: field `replay_bounds`.
enum {
  SYCLAMP_BOUNDS_CLAMP = 0,        ///< the scale stays in [min, max]
  SYCLAMP_BOUNDS_CLAMP_MOVES = 1,  ///< growth stops at max and backoff at min, but a scale outside may stay there
  SYCLAMP_BOUNDS_KEEP = 2,         ///< like CLAMP_MOVES, and growth beyond the largest FP32 does not happen
  SYCLAMP_BOUNDS_REFUSE = 3        ///< like KEEP, and backoff that would reach min does not happen
};
/// The arithmetic of the scale: field `replay_arithmetic`.
enum {
  SYCLAMP_ARITHMETIC_FLOAT32 = 0,         ///< everything in FP32
  SYCLAMP_ARITHMETIC_FLOAT32_SCALED = 1,  ///< the scale in FP32, factors and products in FP64
  SYCLAMP_ARITHMETIC_FLOAT64 = 2          ///< everything in FP64
};

/// A scaling policy: how a loss scale moves. Fill it with `syclamp_policy_preset`, then change fields. docs/policies.md
/// helps to choose values, and the C++ header scaling_policy.hpp has the defaults.
typedef struct syclamp_policy {
  size_t struct_size;                ///< sizeof(syclamp_policy)
  int32_t mode;                      ///< SYCLAMP_DYNAMIC, SYCLAMP_FIXED or SYCLAMP_DISABLED
  int32_t growth_mode;               ///< SYCLAMP_GROW_…
  double init_scale;                 ///< initial scale
  double growth_factor;              ///< factor of growth, above 1
  double backoff_factor;             ///< factor after an overflow, below 1
  double min;                        ///< smallest scale
  double max;                        ///< largest scale
  uint32_t growth_interval;          ///< clean steps until the scale grows
  int32_t power_of_two;              ///< 1: requires powers of two, with which unscaling is exact
  uint32_t hysteresis;               ///< backs off at this overflow; 1: at the first
  int32_t hysteresis_mode;           ///< SYCLAMP_HYSTERESIS_…
  double tolerance;                  ///< backs off only if at least this share of the steps overflowed
  double amax_limit;                 ///< largest scaled gradient that fits, for headroom
  uint32_t margin;                   ///< growth by headroom: doublings that are left free
  uint32_t max_jump;                 ///< growth by headroom: largest number of doublings per step
  uint32_t nan_patience;             ///< consecutive skips with NaN but no Inf for which the scale backs off
  uint32_t give_up_after;            ///< gives up after this many consecutive skips; 0: never
  int32_t on_give_up;                ///< SYCLAMP_GIVE_UP_…
  int32_t on_floor;                  ///< SYCLAMP_GIVE_UP_…, at an overflow with the scale at `min`
  double spike_threshold;            ///< skips a step whose norm is this many deviations above its mean; 0: off
  uint32_t spike_window;             ///< approximate length of that mean in steps
  uint32_t retries;                  ///< how often the same batch may be retried after an overflow
  int32_t clear_on_skip;             ///< 1: sets the gradients of a skipped step to zero
  int32_t replay_growth_test;        ///< SYCLAMP_INTERVAL_…
  int32_t replay_bounds;             ///< SYCLAMP_BOUNDS_…
  int32_t replay_arithmetic;         ///< SYCLAMP_ARITHMETIC_…
  int32_t replay_backoff_by_growth;  ///< 1: backs off by dividing by `growth_factor`
  int32_t replay_one_step_late;      ///< 1: a new scale takes effect one step late
} syclamp_policy;

/// Fills a policy with a preset.
/// \param name    `syclamp` for the default policy, or a framework such as `pytorch`; null: `syclamp`
/// \param policy  receives the preset; set its `struct_size` before
SYCLAMP_C_API syclamp_status syclamp_policy_preset(const char* name, syclamp_policy* policy);

/// Checks every field of a policy. The message names the field, its value and the allowed values.
SYCLAMP_C_API syclamp_status syclamp_policy_validate(const syclamp_policy* policy);

/// The number of presets.
SYCLAMP_C_API syclamp_status syclamp_preset_count(size_t* count);

/// The name of a preset and of its framework. The texts are constant and are not freed.
/// \param index      from 0 to the number of presets - 1
/// \param name       receives the name; may be null
/// \param framework  receives the framework; may be null
SYCLAMP_C_API syclamp_status syclamp_preset_describe(size_t index, const char** name, const char** framework);

/// What differs between a preset and its framework. The text is constant, may be empty and is not freed.
/// \param index  from 0 to the number of presets - 1
/// \param note   receives the text
SYCLAMP_C_API syclamp_status syclamp_preset_note(size_t index, const char** note);

/// The result of a simulated step.
typedef struct syclamp_simulated_step {
  size_t struct_size;            ///< sizeof(syclamp_simulated_step)
  float scale_before;            ///< scale of this step
  float scale_after;             ///< scale of the next step
  syclamp_step_outcome outcome;  ///< whether the step was applied, or why not
  syclamp_step_status status;    ///< a warning
} syclamp_simulated_step;

/// Simulates a new scaler on the host, with the rules that run on devices.
/// \param policy   the policy; null: the default policy
/// \param trace    one letter per step: `.` clean, `i` Inf, `n` NaN; white space is ignored
/// \param results  an array of `capacity` results, or null; set `struct_size` of the first one
/// \param capacity  number of results that fit; more steps than that are simulated, but not written
/// \param count    receives the number of steps of the trace; may be null
SYCLAMP_C_API syclamp_status syclamp_simulate(const syclamp_policy* policy, const char* trace,
                                              syclamp_simulated_step* results, size_t capacity, size_t* count);

#ifdef __cplusplus
}
#endif
#endif
