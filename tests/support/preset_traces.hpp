// SPDX-License-Identifier: Apache-2.0
// Presets and their peers with the same settings over the same steps: what host and device tests have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "syclamp/presets.hpp"
#include "syclamp/simulation.hpp"
#include "tests/reference/peers.hpp"

struct preset_settings {
  std::optional<double> init = {}, growth = {}, backoff = {};
  std::optional<std::uint32_t> interval = {}, hysteresis = {};
};

/// Presets that replay their peer bit for bit.
inline std::vector<std::string> replayed_presets() {
  std::vector<std::string> names;
  for (const syclamp::preset_info& one : syclamp::presets())
    if (one.name != "syclamp" && syclamp::preset(one.name).grow != syclamp::growth_kind::log_max)
      names.push_back(one.name);
  return names;
}

inline syclamp::scaling_policy policy_with(const std::string& name, const preset_settings& with) {
  syclamp::scaling_policy policy = syclamp::preset(name);
  policy.init = with.init.value_or(policy.init);
  policy.growth = with.growth.value_or(policy.growth);
  policy.interval = with.interval.value_or(policy.interval);
  policy.hysteresis = with.hysteresis.value_or(policy.hysteresis);
  if (with.backoff) {
    policy.backoff = *with.backoff;
    policy.backoff_by_growth = false;
  }
  return policy;
}

inline reference::peer_settings peer_with(const preset_settings& with) {
  reference::peer_settings settings;
  settings.init = with.init;
  settings.growth = with.growth;
  settings.backoff = with.backoff;
  settings.interval = with.interval;
  settings.hysteresis = with.hysteresis;
  return settings;
}

/// Defaults with short intervals, factors that are no powers of two, and starts at both ends of FP32.
inline std::vector<preset_settings> settings_to_try(const std::string& name) {
  std::vector<preset_settings> all{
      {.interval = 1}, {.interval = 3}, {.growth = 1.7, .interval = 2}, {.growth = 1.1, .backoff = 0.3, .interval = 2}};
  const syclamp::scaling_policy policy = syclamp::preset(name);
  const bool starts_within_limits = policy.limits == syclamp::limit_kind::clamp;
  if (!starts_within_limits) {
    all.push_back({.init = 0x1.8p126, .interval = 1});
    all.push_back({.init = 0x1.fffffep127, .growth = 3, .interval = 2});
    all.push_back({.init = 0x1p-125, .interval = 5});
    all.push_back({.init = 0.3, .growth = 1.3, .backoff = 0.7, .interval = 2});
  }
  const bool has_hysteresis = policy.hysteresis != 1 || policy.counting != syclamp::scaling_policy{}.counting;
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
