// SPDX-License-Identifier: Apache-2.0
// Every preset against an independent model of its framework (tests/reference/frameworks.hpp), in FP32 bits.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "tests/support/preset_traces.hpp"

using namespace syclamp;

namespace {

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Runs policy and framework side by side; `interval` is set before step 40.
void compare(const std::string& name, const preset_settings& settings, std::uint32_t interval, std::uint64_t seed) {
  scaler_snapshot scaler = scaler_snapshot::fresh(policy_with(name, settings));
  const auto framework = reference::make_framework(name, framework_with(settings));
  for (std::size_t i = 0; i < 400; ++i) {
    if (i == 40) {
      scaler.policy.growth_interval = interval;
      framework->set_interval(interval);
    }
    const reference::gradient step = random_step(seed, i);
    const auto expected = framework->step(step);
    const auto result = simulate_step(scaler, simulated(step));
    INFO(name << ", step " << i << ", seed " << seed << ", scale " << expected.scale_before);
    REQUIRE(bits(result.scale_before) == bits(expected.scale_before));
    REQUIRE(bits(result.scale_after) == bits(expected.scale_after));
    REQUIRE((result.outcome == step_outcome::applied) == expected.applied);
  }
}

}  // namespace

TEST_CASE("every preset moves its scale as its framework does") {
  const std::string name = GENERATE(from_range(replayed_presets()));
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const preset_settings& settings : settings_to_try(name))
      compare(name, settings, settings.interval.value_or(3), seed);
}

TEST_CASE("every preset has the defaults of its framework") {
  const std::string name = GENERATE(from_range(replayed_presets()));
  scaler_snapshot scaler = scaler_snapshot::fresh(scaling_preset(name));
  const auto framework = reference::make_framework(name);
  // Clean steps until the scale has grown twice, then overflows until it has backed off twice.
  const std::size_t clean_steps = 2 * scaler.policy.growth_interval + 2,
                    steps = clean_steps + 2 * scaler.policy.hysteresis + 2;
  for (std::size_t i = 0; i < steps; ++i) {
    const reference::gradient step = i < clean_steps ? reference::gradient::clean : reference::gradient::inf;
    const auto expected = framework->step(step);
    const auto result = simulate_step(scaler, simulated(step));
    INFO(name << ", step " << i);
    REQUIRE(bits(result.scale_before) == bits(expected.scale_before));
    REQUIRE(bits(result.scale_after) == bits(expected.scale_after));
  }
}

TEST_CASE("every preset reacts to a lowered or raised interval as its framework does") {
  const std::string name = GENERATE(from_range(replayed_presets()));
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const std::uint32_t interval : {1u, 2u, 3u, 11u}) compare(name, {.interval = 7}, interval, seed);
}

TEST_CASE("there is a framework for every preset but ours, and a preset for every framework") {
  std::vector<std::string> names;
  for (const preset_info& preset : scaling_presets())
    if (preset.name != "syclamp") names.push_back(preset.name);
  std::ranges::sort(names);
  CHECK(names == reference::framework_names());
}

TEST_CASE("LogMax follows its framework's intended rule within rounding") {
  // The exponent is a sum of a mean and 3.09 deviations of logarithms of at most 2^5, each wrong by about 2^-17 (see
  // scale_number_tests): 8 · 2^-17 · 2^3 for what a deviation near 0 does to a root, in a power of two.
  const scaling_policy policy = scaling_preset("openseq2seq-logmax");
  scaler_snapshot scaler = scaler_snapshot::fresh(policy);
  const auto framework = reference::make_framework("openseq2seq-logmax");
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    const bool overflows = random() % 10 == 0;
    const double amax = std::exp2(std::uniform_real_distribution(4.0, 12.0)(random));
    const auto expected = framework->step(overflows ? reference::gradient::inf : reference::gradient::clean, amax);
    const float scaled = static_cast<float>(amax) * scaler.scales[0].scale;
    const auto result = simulate_step(scaler, {overflows ? found_inf : found_nothing, scaled});
    INFO("step " << i);
    REQUIRE(std::abs(std::log2(result.scale_after / static_cast<double>(expected.scale_after))) < 0x1p-11);
  }
}
