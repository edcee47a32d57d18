// SPDX-License-Identifier: Apache-2.0
#include "syclamp/scaling_policy.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "scaler/scale_numbers.hpp"
#include "scaler/scaling_rule.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

constexpr double smallest = 0x1p-126;
constexpr double largest = std::numeric_limits<float>::max();

/// Throws unless `good`; the message names the field.
template <typename T>
void need(bool good, const char* field, const T& value, const char* remedy) {
  if (!good) throw invalid_argument(fmt::format("scaling_policy: {} is {}; {}", field, value, remedy));
}

bool is_power_of_two(double value) {
  int exponent = 0;
  return std::frexp(value, &exponent) == 0.5;
}

bool is_scale(double value) { return value >= smallest && value <= largest; }  // false for a NaN

void check_factors(const scaling_policy& policy) {
  need(std::isfinite(policy.growth_factor) && policy.growth_factor > 1, "growth_factor", policy.growth_factor,
       "it must be finite and above 1");
  need(policy.backoff_factor > 0 && policy.backoff_factor < 1, "backoff_factor", policy.backoff_factor,
       "it must be above 0 and below 1");
  need(policy.growth_interval >= 1, "growth_interval", policy.growth_interval, "it must be at least 1 clean step");
  need(policy.hysteresis >= 1, "hysteresis", policy.hysteresis,
       "it must be at least 1, which backs off at the first overflow");
  need(policy.tolerance >= 0 && policy.tolerance <= 1, "tolerance", policy.tolerance, "it must be a share from 0 to 1");
}

void check_limits(const scaling_policy& policy) {
  constexpr const char* range = "it must be from 2^-126 to 3.4028235e38, the largest FP32 number";
  need(is_scale(policy.init_scale), "init_scale", policy.init_scale, range);
  need(is_scale(policy.min), "min", policy.min, range);
  need(is_scale(policy.max), "max", policy.max, range);
  need(policy.min <= policy.max, "min", policy.min, "it must not be above max");
  if (policy.replay.bounds != bounds_kind::clamp || policy.mode != scaling_mode::dynamic) return;
  need(policy.init_scale >= policy.min, "init_scale", policy.init_scale,
       fmt::format("it must not be below min, {}", policy.min).c_str());
  need(policy.init_scale <= policy.max, "init_scale", policy.init_scale,
       fmt::format("it must not be above max, {}", policy.max).c_str());
}

void check_powers(const scaling_policy& policy) {
  constexpr const char* remedy = "it must be a power of two, or set power_of_two to false";
  need(is_power_of_two(policy.init_scale), "init_scale", policy.init_scale, remedy);
  if (policy.mode != scaling_mode::dynamic) return;
  need(is_power_of_two(policy.growth_factor), "growth_factor", policy.growth_factor, remedy);
  need(policy.replay.backoff_by_growth || is_power_of_two(policy.backoff_factor), "backoff_factor",
       policy.backoff_factor, remedy);
  need(is_power_of_two(policy.min), "min", policy.min, remedy);
  need(is_power_of_two(policy.max) || policy.max == largest, "max", policy.max, remedy);
  need(policy.growth_mode == growth_kind::interval || policy.growth_mode == growth_kind::headroom, "growth_mode",
       static_cast<unsigned>(policy.growth_mode),
       "with this mode the scale is not always a power of two; set power_of_two to false");
}

template <typename Enum>
void need_one_of(Enum value, Enum last, const char* field) {
  need(value <= last, field, static_cast<unsigned>(value), "the enumeration has no such value");
}

void check_choices(const scaling_policy& policy) {
  need_one_of(policy.mode, scaling_mode::disabled, "mode");
  need_one_of(policy.growth_mode, growth_kind::log_max, "growth_mode");
  need_one_of(policy.replay.growth_test, interval_test::one_later, "replay.growth_test");
  need_one_of(policy.replay.bounds, bounds_kind::refuse, "replay.bounds");
  need_one_of(policy.replay.arithmetic, scale_arithmetic::float64, "replay.arithmetic");
  need_one_of(policy.hysteresis_mode, hysteresis_kind::accumulated, "hysteresis_mode");
  need_one_of(policy.on_give_up, give_up_action::stop, "on_give_up");
  need_one_of(policy.on_floor, give_up_action::stop, "on_floor");
}

}  // namespace

void scaling_policy::validate() const {
  const scaling_policy& policy = *this;
  check_choices(policy);
  check_factors(policy);
  check_limits(policy);
  if (policy.power_of_two) check_powers(policy);
  need(policy.amax_limit > 0 && policy.amax_limit <= largest, "amax_limit", policy.amax_limit,
       "it must be positive and at most 3.4028235e38, the largest FP32 number");
  need(policy.margin <= 24, "margin", policy.margin, "it must be at most 24 doublings");
  need(policy.max_jump >= 1 && policy.max_jump <= 24, "max_jump", policy.max_jump,
       "it must be from 1 to 24 doublings per step");
  need(policy.spike_threshold >= 0 && std::isfinite(policy.spike_threshold), "spike_threshold", policy.spike_threshold,
       "it must be a finite number of standard deviations, or 0 for no spike guard");
  need(policy.spike_window >= 2, "spike_window", policy.spike_window, "it must be at least 2 steps");
}

kernels::scaling_rule rule_of(const scaling_policy& policy) {
  // With FP32 arithmetic, the factor is rounded to FP32 as well.
  const auto number = [&](double value) {
    return to_scale_number(
        policy.replay.arithmetic == scale_arithmetic::float32 ? static_cast<double>(static_cast<float>(value)) : value);
  };
  const bool is_gradual = policy.growth_mode == growth_kind::every_step;
  kernels::scaling_rule rule{};
  rule.growth =
      number(is_gradual ? std::pow(policy.growth_factor, 1.0 / policy.growth_interval) : policy.growth_factor);
  rule.early_growth = number(policy.growth_factor);
  rule.backoff = number(policy.backoff_factor);
  rule.min = number(policy.min);
  rule.max = number(policy.max);
  rule.tolerance = to_scale_number(policy.tolerance);
  rule.mode = policy.mode;
  rule.growth_mode = policy.growth_mode;
  rule.growth_test = policy.replay.growth_test;
  rule.bounds = policy.replay.bounds;
  rule.arithmetic = policy.replay.arithmetic;
  rule.hysteresis_mode = policy.hysteresis_mode;
  rule.on_give_up = policy.on_give_up;
  rule.on_floor = policy.on_floor;
  rule.backoff_by_growth = policy.replay.backoff_by_growth ? 1 : 0;
  rule.one_step_late = policy.replay.one_step_late ? 1 : 0;
  rule.interval = policy.growth_interval;
  rule.hysteresis = policy.hysteresis;
  rule.margin = policy.margin;
  rule.max_jump = policy.max_jump;
  rule.nan_patience = policy.nan_patience;
  rule.give_up_after = policy.give_up_after;
  rule.retries = policy.retries;
  rule.spike_window = policy.spike_window;
  rule.spike_threshold = static_cast<float>(policy.spike_threshold);
  rule.amax_limit = static_cast<float>(policy.amax_limit);
  return rule;
}

}  // namespace SYCLAMP_NAMESPACE
