// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/policy.h"

#include <fmt/format.h>

#include "bindings/c/conversions.hpp"
#include "bindings/c/structs.hpp"
#include "syclamp/presets.hpp"
#include "syclamp/scaler_snapshot.hpp"
#include "syclamp/scaling_policy.hpp"
#include "syclamp/simulation.hpp"

namespace syclamp::c {
namespace {

/// Calls `plain(c, cpp)` for a number, `flag(c, cpp)` for a Boolean, `choice(c, cpp, last, name)` for an enumeration.
template <typename Given, typename Policy, typename Plain, typename Flag, typename Choice>
void visit_fields(Given& c, Policy& cpp, Plain plain, Flag flag, Choice choice) {
  choice(c.mode, cpp.mode, scaling_mode::disabled, "policy.mode");
  choice(c.growth_mode, cpp.growth_mode, growth_kind::log_max, "policy.growth_mode");
  plain(c.init_scale, cpp.init_scale);
  plain(c.growth_factor, cpp.growth_factor);
  plain(c.backoff_factor, cpp.backoff_factor);
  plain(c.min, cpp.min);
  plain(c.max, cpp.max);
  plain(c.growth_interval, cpp.growth_interval);
  flag(c.power_of_two, cpp.power_of_two);
  plain(c.hysteresis, cpp.hysteresis);
  choice(c.hysteresis_mode, cpp.hysteresis_mode, hysteresis_kind::accumulated, "policy.hysteresis_mode");
  plain(c.tolerance, cpp.tolerance);
  plain(c.amax_limit, cpp.amax_limit);
  plain(c.margin, cpp.margin);
  plain(c.max_jump, cpp.max_jump);
  plain(c.nan_patience, cpp.nan_patience);
  plain(c.give_up_after, cpp.give_up_after);
  choice(c.on_give_up, cpp.on_give_up, give_up_action::stop, "policy.on_give_up");
  choice(c.on_floor, cpp.on_floor, give_up_action::stop, "policy.on_floor");
  plain(c.spike_threshold, cpp.spike_threshold);
  plain(c.spike_window, cpp.spike_window);
  plain(c.retries, cpp.retries);
  flag(c.clear_on_skip, cpp.clear_on_skip);
  choice(c.replay_growth_test, cpp.replay.growth_test, interval_test::one_later, "policy.replay_growth_test");
  choice(c.replay_bounds, cpp.replay.bounds, bounds_kind::refuse, "policy.replay_bounds");
  choice(c.replay_arithmetic, cpp.replay.arithmetic, scale_arithmetic::float64, "policy.replay_arithmetic");
  flag(c.replay_backoff_by_growth, cpp.replay.backoff_by_growth);
  flag(c.replay_one_step_late, cpp.replay.one_step_late);
}

/// \throws invalid_argument if there is no such preset
const preset_info& preset(std::size_t index) {
  const std::vector<preset_info>& presets = scaling_presets();
  if (index >= presets.size())
    throw invalid_argument(fmt::format("there is no preset {}; the number of presets is {}", index, presets.size()));
  return presets[index];
}

}  // namespace

scaling_policy to_policy(const syclamp_policy* given) {
  scaling_policy made;
  if (given == nullptr) return made;
  const syclamp_policy copy = read_struct(given, "policy");
  visit_fields(
      copy, made, [](const auto& from, auto& to) { to = from; }, [](std::int32_t from, bool& to) { to = from != 0; },
      [](std::int32_t from, auto& to, auto last, const char* name) { to = checked_enumeration(from, last, name); });
  made.validate();
  return made;
}

void write_policy(const scaling_policy& policy, syclamp_policy* given) {
  const std::size_t size = checked_size(given, "policy");
  syclamp_policy made{};
  visit_fields(
      made, policy, [](auto& to, const auto& from) { to = from; }, [](std::int32_t& to, bool from) { to = from; },
      [](std::int32_t& to, auto from, auto, const char*) { to = static_cast<std::int32_t>(from); });
  write_struct(given, made, size);
}

}  // namespace syclamp::c

using namespace syclamp::c;

syclamp_status syclamp_policy_preset(const char* name, syclamp_policy* policy) {
  return guarded(__func__, [&] {
    write_policy(name == nullptr ? syclamp::scaling_policy{} : syclamp::scaling_preset(name), policy);
  });
}

syclamp_status syclamp_policy_validate(const syclamp_policy* policy) {
  return guarded(__func__, [&] {
    need(policy, "policy");
    to_policy(policy);
  });
}

syclamp_status syclamp_preset_count(size_t* count) {
  return guarded(__func__, [&] {
    need(count, "count");
    *count = syclamp::scaling_presets().size();
  });
}

syclamp_status syclamp_preset_describe(size_t index, const char** name, const char** framework) {
  return guarded(__func__, [&] {
    const syclamp::preset_info& found = preset(index);
    if (name != nullptr) *name = found.name.c_str();
    if (framework != nullptr) *framework = found.framework.c_str();
  });
}

syclamp_status syclamp_preset_note(size_t index, const char** note) {
  return guarded(__func__, [&] {
    need(note, "note");
    *note = preset(index).note.c_str();
  });
}

syclamp_status syclamp_simulate(const syclamp_policy* policy, const char* trace, syclamp_simulated_step* results,
                                size_t capacity, size_t* count) {
  return guarded(__func__, [&] {
    need(trace, "trace");
    const size_t size = result_size(results, capacity, "results");
    const auto steps = syclamp::read_trace(trace);
    syclamp::scaler_snapshot scaler = syclamp::scaler_snapshot::fresh(to_policy(policy));
    for (size_t i = 0; i < steps.size(); ++i) {
      const syclamp::simulated_result result = syclamp::simulate_step(scaler, steps[i]);
      if (size == 0 || i >= capacity) continue;
      write_struct(element(results, i, size), from_simulated(result), size);
    }
    if (count != nullptr) *count = steps.size();
  });
}
