// SPDX-License-Identifier: Apache-2.0
// Policies: what is refused, and what our own do that no framework's does.
#include <functional>
#include <limits>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/syclamp.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// The scale after each step of a trace.
std::vector<float> scales(const scaling_policy& policy, const char* trace) {
  scaler_snapshot scaler = scaler_snapshot::fresh(policy);
  std::vector<float> after;
  for (const simulated_step& step : read_trace(trace)) after.push_back(simulate_step(scaler, step).scale_after);
  return after;
}

std::vector<step_status> statuses(const scaling_policy& policy, const char* trace) {
  scaler_snapshot scaler = scaler_snapshot::fresh(policy);
  std::vector<step_status> all;
  for (const simulated_step& step : read_trace(trace)) all.push_back(simulate_step(scaler, step).status);
  return all;
}

using enum step_status;

}  // namespace

TEST_CASE("a policy that cannot be is refused by the name of the field, with its value") {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::tuple<const char*, const char*, std::function<void(scaling_policy&)>>> wrong{
      {"growth_factor is 1;", "above 1", [](auto& p) { p.growth_factor = 1; }},
      {"growth_factor is inf", "finite", [&](auto& p) { p.growth_factor = inf; }},
      {"growth_factor is nan", "finite", [&](auto& p) { p.growth_factor = nan; }},
      {"backoff_factor is 1;", "below 1", [](auto& p) { p.backoff_factor = 1; }},
      {"backoff_factor is 0;", "above 0", [](auto& p) { p.backoff_factor = 0; }},
      {"growth_interval is 0", "1 clean step", [](auto& p) { p.growth_interval = 0; }},
      {"hysteresis is 0", "first overflow", [](auto& p) { p.hysteresis = 0; }},
      {"tolerance is 1.5", "0 to 1", [](auto& p) { p.tolerance = 1.5; }},
      {"init_scale is 0;", "2^-126", [](auto& p) { p.init_scale = 0; }},
      {"init_scale is -1", "2^-126", [](auto& p) { p.init_scale = -1; }},
      {"init_scale is inf", "2^-126", [&](auto& p) { p.init_scale = inf; }},
      {"init_scale is nan", "2^-126", [&](auto& p) { p.init_scale = nan; }},
      {"init_scale is 33554432", "above max", [](auto& p) { p.init_scale = 0x1p25; }},
      {"init_scale is 3.05", "below min", [](auto& p) { p.init_scale = 0x1p-15; }},
      {"init_scale is 1000", "power of two", [](auto& p) { p.init_scale = 1000; }},
      {"growth_factor is 3;", "power_of_two", [](auto& p) { p.growth_factor = 3; }},
      {"backoff_factor is 0.3", "power_of_two", [](auto& p) { p.backoff_factor = 0.3; }},
      {"min is 1e", "2^-126", [](auto& p) { p.min = 1e-40; }},
      {"max is 1e", "largest FP32", [](auto& p) { p.max = 1e39; }},
      {"min is 4;", "above max", [](auto& p) { p.min = 4, p.max = 2; }},
      {"amax_limit is 0;", "positive", [](auto& p) { p.amax_limit = 0; }},
      {"max_jump is 0", "1 to 24", [](auto& p) { p.max_jump = 0; }},
      {"margin is 25", "24", [](auto& p) { p.margin = 25; }},
      {"spike_window is 1", "2 steps", [](auto& p) { p.spike_window = 1; }},
      {"spike_threshold is -1", "deviations", [](auto& p) { p.spike_threshold = -1; }},
      {"mode is 7", "no such value", [](auto& p) { p.mode = static_cast<scaling_mode>(7); }},
      {"growth_mode is 2", "powers of two", [](auto& p) { p.growth_mode = growth_kind::log_max; }},
  };
  for (const auto& [field, remedy, spoil] : wrong) {
    if (std::string_view(field) == "growth_mode is 2")
      continue;  // the number of the choice is not part of the contract
    scaling_policy policy;
    spoil(policy);
    CHECK_THROWS_MATCHES(policy.validate(), invalid_argument,
                         MessageMatches(ContainsSubstring(field) && ContainsSubstring(remedy)));
  }
  scaling_policy statistical;
  statistical.growth_mode = growth_kind::log_max;
  CHECK_THROWS_MATCHES(statistical.validate(), invalid_argument,
                       MessageMatches(ContainsSubstring("not always a power of two")));
  for (const preset_info& preset : scaling_presets()) CHECK_NOTHROW(scaling_preset(preset.name).validate());
  CHECK_THROWS_MATCHES(scaling_preset("torch"), invalid_argument,
                       MessageMatches(ContainsSubstring("torch") && ContainsSubstring("megatron")));
}

TEST_CASE("law 5: our scale stays in [min, max], and a lowered interval still lets it grow") {
  scaling_policy policy{.init_scale = 2, .growth_interval = 1, .min = 0.5, .max = 4};
  CHECK(scales(policy, "....iiiiii..") == std::vector<float>{4, 4, 4, 4, 2, 1, 0.5, 0.5, 0.5, 0.5, 1, 2});
  policy.growth_interval = 10;
  scaler_snapshot scaler = scaler_snapshot::fresh(policy);
  for (int i = 0; i < 5; ++i) simulate_step(scaler, {});
  scaler.policy.growth_interval = 3;
  CHECK(simulate_step(scaler, {}).scale_after == 4);
}

TEST_CASE("NaN backs off like Inf until it is clear that a smaller scale does not help") {
  const scaling_policy policy{.init_scale = 16, .min = 0x1p-14, .nan_patience = 2};
  CHECK(scales(policy, "nnnnn") == std::vector<float>{8, 4, 4, 4, 4});
  CHECK(statuses(policy, "nnnn") == std::vector{ok, ok, nan_persistent, nan_persistent});
  CHECK(scales(policy, "nninnn") == std::vector<float>{8, 4, 2, 1, 0.5, 0.5});  // an Inf is an overflow again
  CHECK(scales(policy, "nn.nnn") == std::vector<float>{8, 4, 4, 2, 1, 1});
}

TEST_CASE("a policy that gives up keeps on, holds or stops, and says so") {
  scaling_policy policy{.init_scale = 16, .give_up_after = 2};
  CHECK(scales(policy, "iii.i") == std::vector<float>{8, 4, 2, 2, 1});
  CHECK(statuses(policy, "iii.i") == std::vector{ok, too_many_skips, too_many_skips, ok, ok});
  policy.on_give_up = give_up_action::hold;
  CHECK(scales(policy, "iii.i") == std::vector<float>{8, 8, 8, 8, 4});
  policy.on_give_up = give_up_action::stop;
  CHECK(scales(policy, "iii.i") == std::vector<float>{8, 8, 8, 8, 8});
  CHECK(statuses(policy, "iii.i") == std::vector{ok, too_many_skips, stopped, stopped, stopped});

  scaling_policy floor{.init_scale = 2, .min = 1};
  CHECK(statuses(floor, "iii.") == std::vector{ok, at_floor, at_floor, ok});
  floor.on_floor = give_up_action::stop;
  CHECK(statuses(floor, "iii.") == std::vector{ok, at_floor, stopped, stopped});

  scaling_policy fixed{
      .mode = scaling_mode::fixed, .init_scale = 8, .give_up_after = 2, .on_give_up = give_up_action::stop};
  CHECK(scales(fixed, "ii.") == std::vector<float>{8, 8, 8});
  CHECK(statuses(fixed, "ii.") == std::vector{ok, too_many_skips, stopped});
}

TEST_CASE("growth by headroom jumps to where there is room, at most so far in a step, and not for zeros") {
  const scaling_policy policy{.init_scale = 1, .growth_mode = growth_kind::headroom, .margin = 1, .max_jump = 4};
  scaler_snapshot scaler = scaler_snapshot::fresh(policy);
  const auto after = [&](float amax) { return simulate_step(scaler, {found_nothing, amax}).scale_after; };
  CHECK(after(0.0f) == 1);       // nothing is known
  CHECK(after(1.0f) == 16);      // room for 15 doublings, 4 at a time
  CHECK(after(16376.0f) == 32);  // 65504 / 4: two doublings, one of them left free
  CHECK(after(16377.0f) == 32);  // one doubling, left free
  CHECK(after(65504.0f) == 32);
  CHECK(simulate_step(scaler, {found_inf, 0}).scale_after == 16);
}

TEST_CASE("a static scale does not move, and a disabled one is 1 and applies everything") {
  const scaling_policy fixed{.mode = scaling_mode::fixed, .init_scale = 1024};
  CHECK(scales(fixed, "..in.") == std::vector<float>(5, 1024));
  scaler_snapshot off = scaler_snapshot::fresh({.mode = scaling_mode::disabled});
  const auto result = simulate_step(off, {found_inf, 0});
  CHECK(result.outcome == step_outcome::applied);
  CHECK(result.scale_after == 1);
}

TEST_CASE("hysteresis: the four kinds count different overflows") {
  scaling_policy policy{.init_scale = 1024, .growth_interval = 3, .hysteresis = 2};
  const char* trace = "i.iii...ii";
  policy.hysteresis_mode = hysteresis_kind::consecutive;
  CHECK(scales(policy, trace) == std::vector<float>{1024, 1024, 1024, 512, 256, 256, 256, 512, 512, 256});
  policy.hysteresis_mode = hysteresis_kind::consecutive_anew;
  CHECK(scales(policy, trace) == std::vector<float>{1024, 1024, 1024, 512, 512, 512, 512, 1024, 1024, 512});
  policy.hysteresis_mode = hysteresis_kind::per_growth_window;
  CHECK(scales(policy, trace) == std::vector<float>{1024, 1024, 512, 256, 128, 128, 128, 256, 256, 128});
  policy.hysteresis_mode = hysteresis_kind::accumulated;
  CHECK(scales(policy, trace) == std::vector<float>{1024, 1024, 512, 512, 256, 256, 256, 512, 512, 256});
}

TEST_CASE("a trace with a strange letter is refused with its place") {
  CHECK(read_trace(". i\nn").size() == 3);
  CHECK_THROWS_MATCHES(read_trace("..x"), invalid_argument,
                       MessageMatches(ContainsSubstring("'x' at position 3") && ContainsSubstring("NaN")));
}

TEST_CASE("a recorded run is replayed with another policy") {
  const auto recorded = [](float amax, float scale, std::uint32_t flags = found_nothing) {
    ledger_entry entry;
    entry.record.scale = scale;
    entry.record.amax = amax;
    entry.record.flags = flags;
    entry.record.elements = 100;
    entry.record.zero_count = 10;
    entry.record.subnormal_count = 5;
    entry.record.outcome = flags == found_nothing ? step_outcome::applied : step_outcome::skipped_inf;
    return entry;
  };
  constexpr float inf = std::numeric_limits<float>::infinity();
  // Unscaled amax 2, then 8; then an overflow at 2^14; then 2 again.
  const std::vector<ledger_entry> ledger{recorded(128, 64), recorded(512, 64), recorded(inf, 0x1p14, found_inf),
                                         recorded(128, 64)};
  const replay_report report = replay_ledger(ledger, {.init_scale = 0x1p14});
  CHECK(report.steps == 4);
  CHECK(report.recorded_skips == 1);
  CHECK(report.skips == 1);  // 8 · 2^14 is above 65504; after that, 2^13 is below the scale that overflowed
  CHECK(report.final_scale == 0x1p13f);
  CHECK(report.max_safe_scale == 0x1p12f);  // 8 · 2^12 = 32768, 8 · 2^13 = 65536
  const std::vector<ledger_entry> overflowed{recorded(128, 64), recorded(inf, 0x1p10, found_inf)};
  CHECK(replay_ledger(overflowed, {}).max_safe_scale == 0x1p9f);  // at 2^10 it is known to overflow
  CHECK(report.zero_share == 0.1);
  CHECK(report.subnormal_share == 0.05);
}
