// SPDX-License-Identifier: Apache-2.0
// Presets and their frameworks with the same settings over the same steps. Shared by host and device tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "syclamp/presets.hpp"
#include "syclamp/simulation.hpp"
#include "tests/reference/frameworks.hpp"

struct preset_settings {
  std::optional<double> init = {}, growth = {}, backoff = {};
  std::optional<std::uint32_t> interval = {}, hysteresis = {};
};

/// Presets that replay their framework bit for bit.
inline std::vector<std::string> replayed_presets() {
  std::vector<std::string> names;
  for (const syclamp::preset_info& preset : syclamp::scaling_presets())
    if (preset.name != "syclamp" && syclamp::scaling_preset(preset.name).growth_mode != syclamp::growth_kind::log_max)
      names.push_back(preset.name);
  return names;
}

inline syclamp::scaling_policy policy_with(const std::string& name, const preset_settings& settings) {
  syclamp::scaling_policy policy = syclamp::scaling_preset(name);
  policy.init_scale = settings.init.value_or(policy.init_scale);
  policy.growth_factor = settings.growth.value_or(policy.growth_factor);
  policy.growth_interval = settings.interval.value_or(policy.growth_interval);
  policy.hysteresis = settings.hysteresis.value_or(policy.hysteresis);
  if (settings.backoff) {
    policy.backoff_factor = *settings.backoff;
    policy.replay.backoff_by_growth = false;
  }
  return policy;
}

inline reference::framework_settings framework_with(const preset_settings& settings) {
  reference::framework_settings framework;
  framework.init = settings.init;
  framework.growth = settings.growth;
  framework.backoff = settings.backoff;
  framework.interval = settings.interval;
  framework.hysteresis = settings.hysteresis;
  return framework;
}

/// Defaults with short intervals, factors that are no powers of two, and starts at both ends of FP32.
inline std::vector<preset_settings> settings_to_try(const std::string& name) {
  std::vector<preset_settings> all{
      {.interval = 1}, {.interval = 3}, {.growth = 1.7, .interval = 2}, {.growth = 1.1, .backoff = 0.3, .interval = 2}};
  const syclamp::scaling_policy policy = syclamp::scaling_preset(name);
  const bool starts_within_limits = policy.replay.bounds == syclamp::bounds_kind::clamp;
  if (!starts_within_limits) {
    all.push_back({.init = 0x1.8p126, .interval = 1});
    all.push_back({.init = 0x1.fffffep127, .growth = 3, .interval = 2});
    all.push_back({.init = 0x1p-125, .interval = 5});
    all.push_back({.init = 0.3, .growth = 1.3, .backoff = 0.7, .interval = 2});
  }
  const bool has_hysteresis =
      policy.hysteresis != 1 || policy.hysteresis_mode != syclamp::scaling_policy{}.hysteresis_mode;
  if (has_hysteresis)
    for (const std::uint32_t hysteresis : {1u, 2u, 3u, 5u}) all.push_back({.interval = 3, .hysteresis = hysteresis});
  return all;
}

/// Clean, Inf or NaN, a function of seed and step; long clean and long bad runs both occur.
inline reference::gradient random_step(std::uint64_t seed, std::uint64_t step) {
  const auto mix = [](std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
  };
  const std::uint64_t often = mix(seed * 1000 + step / 25) % 10;  // tenths of bad steps, changing every 25 steps
  const std::uint64_t random = mix((seed + 1) << 32 | (step + 1));
  if (random % 10 >= often) return reference::gradient::clean;
  return (random >> 8) % 2 == 0 ? reference::gradient::inf : reference::gradient::nan;
}

inline syclamp::simulated_step simulated(reference::gradient step) {
  const std::uint32_t flags = step == reference::gradient::inf   ? syclamp::found_inf
                              : step == reference::gradient::nan ? syclamp::found_nan
                                                                 : syclamp::found_nothing;
  return {flags, 0.0f};
}
