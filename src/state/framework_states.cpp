// SPDX-License-Identifier: Apache-2.0
// Scaler states in the checkpoints of other frameworks. Frameworks count clean steps differently. The conversion keeps
// the step at which the scale grows next.
#include "syclamp/framework_states.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "scaler/scale_numbers.hpp"
#include "scaler/snapshot_check.hpp"
#include "support/json_reader.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

constexpr std::uint64_t max_steps = max_loaded_count, max_setting = std::numeric_limits<std::uint32_t>::max();

// --- Counting clean steps --------------------------------------------------------------------------------------------

/// How many more clean steps it takes until the scale grows. A counter that is past its interval, and so never reaches
/// it (`equal`), is taken for one that has just been reached.
std::uint64_t steps_to_growth(std::uint64_t clean_steps, interval_test test, std::uint64_t interval) {
  if (test == interval_test::multiple) return interval - clean_steps % interval;
  if (test == interval_test::one_later)
    return clean_steps == 0 ? interval + 1 : interval - (clean_steps - 1) % interval;
  return clean_steps < interval ? interval - clean_steps : 1;
}

/// Converts a count of clean steps from one test to another. Equal tests keep the count unchanged.
std::uint32_t recounted(std::uint32_t clean_steps, interval_test from, interval_test to, std::uint32_t interval) {
  if (from == to) return clean_steps;
  const std::uint64_t left = steps_to_growth(clean_steps, from, interval);
  const std::uint64_t whole = std::uint64_t{interval} + (to == interval_test::one_later ? 1 : 0);
  return static_cast<std::uint32_t>(whole > left ? whole - left : 0);
}

// --- Reading ---------------------------------------------------------------------------------------------------------

/// An object in a framework's state: values by their keys. Messages name the object and the key.
class framework_object {
 public:
  /// `remedy`: what to do if a key is missing.
  framework_object(const json& values, std::string name, const char* remedy)
      : values_(values), name_(std::move(name)), remedy_(remedy) {
    if (!values_.is_object()) refuse(fmt::format("it is {}; it must be an object", shown(values_)));
  }

  [[noreturn]] void refuse(std::string_view why) const { throw invalid_argument(fmt::format("{}: {}", name_, why)); }

  bool boolean(const char* key) const {
    const json& value = at(key);
    if (!value.is_boolean()) refuse_value(key, "true or false");
    return value.get<bool>();
  }

  double number(const char* key) const {
    const json& value = at(key);
    if (!value.is_number()) refuse_value(key, "a number");
    return value.get<double>();
  }

  std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const {
    const json& value = at(key);
    const bool fits = value.is_number_unsigned() ? std::in_range<std::int64_t>(value.get<std::uint64_t>())
                                                 : value.is_number_integer();
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
      refuse_value(key, fmt::format("an integer from {} to {}", least, most));
    return value.get<std::int64_t>();
  }

  std::uint32_t counter(const char* key) const { return static_cast<std::uint32_t>(integer(key, 0, max_steps)); }

  std::uint32_t setting(const char* key) const { return static_cast<std::uint32_t>(integer(key, 1, max_setting)); }

  /// A scale: a number, or a tensor with one.
  double scale(const char* key) const {
    const json& given = at(key);
    const json& value = given.is_array() && given.size() == 1 ? given[0] : given;
    const double scale = value.is_number() ? value.get<double>() : 0.0;
    if (!(scale >= 0x1p-126 && scale <= std::numeric_limits<float>::max()))
      refuse_value(
          key,
          "from 2^-126 to 3.4028235e38, the largest FP32 number; the saved scale is unusable, so start with a new one");
    return scale;
  }

  const json& at(const char* key) const {
    const auto found = values_.find(key);
    if (found == values_.end()) refuse(fmt::format("the key {} is missing; {}", key, remedy_));
    return *found;
  }

  [[noreturn]] void refuse_value(const char* key, std::string_view must) const {
    refuse(fmt::format("{} is {}; it must be {}", key, shown(at(key)), must));
  }

  framework_object object(const std::string& key) const {
    return {at(key.c_str()), fmt::format("{}, {}", name_, key), remedy_};
  }

  std::size_t keys_that_begin_with(std::string_view prefix) const {
    std::size_t count = 0;
    for (const auto& [key, value] : values_.items()) count += key.starts_with(prefix) ? 1 : 0;
    return count;
  }

 private:
  const json& values_;
  std::string name_;
  const char* remedy_;
};

/// The scale in the arithmetic of the policy.
void set_scale(scale_state& state, const scaling_policy& policy, double scale) {
  const scale_number exact = to_scale_number(scale);
  state.exact = state.next =
      policy.replay.arithmetic == scale_arithmetic::float64 ? exact : kernels::rounded_to_float32(exact);
  state.scale = kernels::to_float(state.exact);
}

double scale_of(const scale_state& state) { return to_double(state.exact); }

// --- Frameworks ------------------------------------------------------------------------------------------------------

/// A framework. `test` says how it compares its count of clean steps with its interval.
struct framework {
  const char* name;
  interval_test test;
  json (*save)(const framework& self, const scaler_snapshot& from);
  void (*load)(const framework& self, const framework_object& from, scaler_snapshot& to);
  const char* if_missing = "check that it is a state of this framework";

  std::uint32_t saved_steps(const scaler_snapshot& from, const scale_state& state) const {
    return recounted(state.clean_steps, from.policy.replay.growth_test, test, from.policy.growth_interval);
  }
  /// Once the policy has the interval of the checkpoint.
  std::uint32_t loaded_steps(std::uint32_t steps, const scaler_snapshot& to) const {
    return recounted(steps, test, to.policy.replay.growth_test, to.policy.growth_interval);
  }
};

double backoff_of(const scaling_policy& policy) {
  return policy.replay.backoff_by_growth ? 1 / policy.growth_factor : policy.backoff_factor;
}

json save_pytorch(const framework& self, const scaler_snapshot& from) {
  const scale_state& state = from.scales.front();
  return {{"scale", scale_of(state)},
          {"growth_factor", from.policy.growth_factor},
          {"backoff_factor", backoff_of(from.policy)},
          {"growth_interval", from.policy.growth_interval},
          {"_growth_tracker", self.saved_steps(from, state)}};
}

void load_pytorch(const framework& self, const framework_object& from, scaler_snapshot& to) {
  scale_state& state = to.scales.front();
  to.policy.growth_factor = from.number("growth_factor");
  const double backoff = from.number("backoff_factor");
  if (backoff !=
      backoff_of(to.policy)) {  // a policy that divides by the growth factor keeps dividing if the numbers agree
    to.policy.backoff_factor = backoff;
    to.policy.replay.backoff_by_growth = false;
  }
  to.policy.growth_interval = from.setting("growth_interval");
  state.clean_steps = self.loaded_steps(from.counter("_growth_tracker"), to);
  set_scale(state, to.policy, from.scale("scale"));
}

json save_keras3(const framework& self, const scaler_snapshot& from) {
  const scale_state& state = from.scales.front();
  return {{"step_counter", self.saved_steps(from, state)},
          {"dynamic_scale", scale_of(state)},
          {"initial_scale", from.policy.init_scale},
          {"dynamic_growth_steps", from.policy.growth_interval}};
}

void load_keras3(const framework& self, const framework_object& from, scaler_snapshot& to) {
  scale_state& state = to.scales.front();
  to.policy.init_scale = from.scale("initial_scale");
  to.policy.growth_interval = from.setting("dynamic_growth_steps");
  state.clean_steps = self.loaded_steps(from.counter("step_counter"), to);
  set_scale(state, to.policy, from.scale("dynamic_scale"));
}

json save_keras2(const framework& self, const scaler_snapshot& from) {
  const scale_state& state = from.scales.front();
  return {{"current_loss_scale", scale_of(state)}, {"good_steps", self.saved_steps(from, state)}};
}

void load_keras2(const framework& self, const framework_object& from, scaler_snapshot& to) {
  scale_state& state = to.scales.front();
  state.clean_steps = self.loaded_steps(from.counter("good_steps"), to);
  set_scale(state, to.policy, from.scale("current_loss_scale"));
}

std::string apex_key(std::size_t index) { return fmt::format("loss_scaler{}", index); }

json save_apex(const framework& self, const scaler_snapshot& from) {
  json all = json::object();
  for (const scale_state& state : from.scales)
    all[apex_key(all.size())] = {{"loss_scale", scale_of(state)}, {"unskipped", self.saved_steps(from, state)}};
  return all;
}

/// Loads all scales of the checkpoint. Scales that the base lacks start with counters of 0.
void load_apex(const framework& self, const framework_object& from, scaler_snapshot& to) {
  const std::size_t count = from.keys_that_begin_with("loss_scaler");
  scale_state added = scaler_snapshot::fresh(to.policy).scales.front();
  added.attempted = to.scales.front().attempted;  // scales step together
  to.scales.resize(std::max<std::size_t>(count, 1), added);
  for (std::size_t i = 0; i < to.scales.size(); ++i) {
    const framework_object entry = from.object(apex_key(i));
    to.scales[i].clean_steps = self.loaded_steps(entry.counter("unskipped"), to);
    set_scale(to.scales[i], to.policy, entry.scale("loss_scale"));
  }
}

/// The number of overflows until the scale backs off, including the one that backs off.
std::uint32_t hysteresis_left(const scaler_snapshot& from) {
  const std::uint32_t most = from.policy.hysteresis;
  return most - std::min(from.scales.front().tolerated, most - 1);
}

json save_deepspeed(const framework& self, const scaler_snapshot& from) {
  const scaling_policy& policy = from.policy;
  const scale_state& state = from.scales.front();
  const std::uint64_t clean_steps = self.saved_steps(from, state);
  const std::uint64_t iteration = std::max(state.attempted, clean_steps);
  return {{"dynamic_loss_scale", policy.mode == scaling_mode::dynamic},
          {"cur_scale", scale_of(state)},
          {"cur_iter", iteration},
          {"last_overflow_iter", static_cast<std::int64_t>(iteration - clean_steps) - 1},
          {"cur_hysteresis", hysteresis_left(from)},
          {"scale_factor", policy.growth_factor},
          {"scale_window", policy.growth_interval},
          {"min_scale", policy.min},
          {"delayed_shift", policy.hysteresis},
          {"consecutive_hysteresis", policy.hysteresis_mode == hysteresis_kind::consecutive}};
}

void load_deepspeed_policy(const framework_object& from, scaling_policy& to) {
  to.mode = scaling_mode::dynamic;
  to.growth_factor = from.number("scale_factor");
  if (!(to.growth_factor > 1)) from.refuse_value("scale_factor", "above 1");
  to.backoff_factor = 1 / to.growth_factor;
  to.replay.backoff_by_growth = true;
  to.growth_interval = from.setting("scale_window");
  to.min = from.scale("min_scale");
  to.hysteresis = from.setting("delayed_shift");
  to.hysteresis_mode =
      from.boolean("consecutive_hysteresis") ? hysteresis_kind::consecutive : hysteresis_kind::per_growth_window;
}

/// DeepSpeed's iterations are our attempts. The first is number 0, and a last overflow at -1 means that there was none.
void load_deepspeed(const framework& self, const framework_object& from, scaler_snapshot& to) {
  scale_state& state = to.scales.front();
  const std::int64_t iteration = from.integer("cur_iter", 0, max_loaded_steps);
  state.attempted = std::max<std::uint64_t>(iteration, state.applied + state.skipped);
  to.policy.mode = scaling_mode::fixed;
  if (from.boolean("dynamic_loss_scale")) {
    load_deepspeed_policy(from, to.policy);
    const std::int64_t overflow = from.integer("last_overflow_iter", -1, iteration - 1);
    const std::int64_t clean_steps = iteration - overflow - 1;
    if (clean_steps > static_cast<std::int64_t>(max_steps))
      from.refuse_value("last_overflow_iter", fmt::format("at most {} steps ago", max_steps));
    state.clean_steps = self.loaded_steps(static_cast<std::uint32_t>(clean_steps), to);
    const auto left = static_cast<std::uint32_t>(from.integer("cur_hysteresis", 1, to.policy.hysteresis));
    state.tolerated = to.policy.hysteresis - left;
  }
  set_scale(state, to.policy, from.scale("cur_scale"));
}

json save_megatron(const framework& self, const scaler_snapshot& from) {
  const scale_state& state = from.scales.front();
  return {{"scale", scale_of(state)},
          {"growth_tracker", self.saved_steps(from, state)},
          {"hysteresis_tracker", hysteresis_left(from)}};
}

/// Megatron's tracker continues below 1 with each backoff, until the scale grows. All values below 1 behave like 1.
void load_megatron(const framework& self, const framework_object& from, scaler_snapshot& to) {
  scale_state& state = to.scales.front();
  const std::uint32_t most = to.policy.hysteresis;
  const std::int64_t left = from.integer("hysteresis_tracker", std::numeric_limits<std::int32_t>::min(), max_setting);
  if (left > most)
    from.refuse_value("hysteresis_tracker",
                      fmt::format("at most {}, the base's hysteresis; pass a base with a larger hysteresis", most));
  state.tolerated = most - static_cast<std::uint32_t>(std::max<std::int64_t>(left, 1));
  state.clean_steps = self.loaded_steps(from.counter("growth_tracker"), to);
  set_scale(state, to.policy, from.scale("scale"));
}

constexpr std::array frameworks{
    framework{"pytorch", interval_test::equal, save_pytorch, load_pytorch},
    framework{"keras3", interval_test::equal, save_keras3, load_keras3},
    framework{"keras2", interval_test::at_least, save_keras2, load_keras2},
    framework{"apex", interval_test::equal, save_apex, load_apex},
    framework{"deepspeed", interval_test::one_later, save_deepspeed, load_deepspeed,
              "DeepSpeed's FP16_Optimizer has no hysteresis and does not save min_scale, delayed_shift, cur_hysteresis "
              "and consecutive_hysteresis, so add its minimum, 1, 1 and false"},
    framework{"megatron", interval_test::equal, save_megatron, load_megatron},
};

const framework& find_framework(std::string_view name) {
  std::string names;
  for (const framework& known : frameworks) {
    if (name == known.name) return known;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  }
  throw invalid_argument(
      fmt::format("the framework {} is not supported; choose one of {}", shown(json(std::string(name))), names));
}

// --- Common to all frameworks ---------------------------------------------------------------------------------------

bool is(const framework& target, std::string_view name) { return name == target.name; }

/// Apex has an entry for each scale. The other frameworks have one scale.
void check_usable(const framework& target, const scaler_snapshot& snapshot) {
  const std::size_t count = snapshot.scales.size();
  if (count == 0)
    throw invalid_argument(
        fmt::format("{}: the snapshot has no scale; start from scaler_snapshot::fresh", target.name));
  if (count > 1 && !is(target, "apex"))
    throw invalid_argument(fmt::format(
        "{}: the snapshot has {} scales, but this framework saves one; use apex, or save one scale at a time",
        target.name, count));
  snapshot.policy.validate();
}

bool is_disabled(const scaler_snapshot& snapshot) { return snapshot.policy.mode == scaling_mode::disabled; }

void check_can_be_saved(const framework& target, const scaler_snapshot& snapshot) {
  if (is_disabled(snapshot))
    throw invalid_argument(fmt::format(
        "{}: scaling is disabled, so there is no scale to save; save a scaler with scaling enabled", target.name));
  for (const scale_state& state : snapshot.scales)
    if (snapshot.policy.replay.one_step_late && kernels::compare(state.exact, state.next) != 0)
      throw invalid_argument(fmt::format(
          "{}: the scale {} will become {} one step later, which {} cannot represent; save after the next step",
          target.name, scale_of(state), to_double(state.next), target.name));
}

}  // namespace

std::string to_framework_state(const scaler_snapshot& snapshot, std::string_view framework_name) {
  const framework& to = find_framework(framework_name);
  check_usable(to, snapshot);
  if (is(to, "pytorch") && is_disabled(snapshot)) return "{}";  // as GradScaler does
  check_can_be_saved(to, snapshot);
  return to.save(to, snapshot).dump();
}

scaler_snapshot from_framework_state(std::string_view text, std::string_view framework_name, scaler_snapshot base) {
  const framework& from = find_framework(framework_name);
  const std::string name = fmt::format("{} state", from.name);
  const json values = read_json(text, name);
  const framework_object state(values, name, from.if_missing);
  check_usable(from, base);
  if (is(from, "pytorch") && is_disabled(base)) return base;  // as GradScaler does
  if (is(from, "megatron") && base.policy.mode == scaling_mode::fixed && values.empty()) return base;
  if (is_disabled(base) && !is(from, "deepspeed"))  // its state has its own mode
    state.refuse("the base has scaling disabled; pass a base with the mode dynamic or fixed");
  from.load(from, state, base);
  std::erase_if(base.ledger, [&](const ledger_entry& entry) {  // steps that the checkpoint does not include
    return entry.record.scale_index >= base.scales.size() || entry.record.step > base.scales.front().attempted;
  });
  try {
    base.policy.validate();
  } catch (const invalid_argument& problem) {
    state.refuse(fmt::format("it does not fit the base: {}", problem.what()));
  }
  return base;
}

}  // namespace SYCLAMP_NAMESPACE
