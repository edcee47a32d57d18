// SPDX-License-Identifier: Apache-2.0
#include "apps/commands/policy_options.hpp"

#include <algorithm>

namespace syclamp::program {

void add_policy_options(CLI::App& command, policy_options& options) {
  command.add_option("--init", options.init, "Initial scale. Default of this and the next six options: the preset's");
  command.add_option(
      "--growth", options.growth,
      "Factor by which the scale grows, above 1. Presets with a single factor also divide by it on overflow");
  command.add_option("--backoff", options.backoff, "Factor after an overflow, below 1");
  command.add_option("--interval", options.interval, "Clean steps until the scale grows");
  command.add_option("--min", options.min, "Smallest scale");
  command.add_option("--max", options.max, "Largest scale");
  command.add_option("--hysteresis", options.hysteresis,
                     "Overflows until the scale backs off, as the preset counts them");
}

scaling_policy policy_of(const std::string& preset_name, const policy_options& options) {
  scaling_policy policy = scaling_preset(preset_name);
  const bool has_factors = options.init || options.growth || options.backoff || options.min || options.max;
  if (has_factors) policy.power_of_two = false;
  if (options.growth) policy.growth_factor = *options.growth;
  if (options.backoff) {
    policy.backoff_factor = *options.backoff;
    policy.replay.backoff_by_growth = false;
  }
  if (options.interval) policy.growth_interval = *options.interval;
  if (options.hysteresis) policy.hysteresis = *options.hysteresis;
  if (options.min) policy.min = *options.min;
  if (options.max) policy.max = *options.max;
  // The preset's initial scale is clamped to limits from the command line.
  if (policy.replay.bounds == bounds_kind::clamp && policy.min <= policy.max)
    policy.init_scale = std::clamp(policy.init_scale, policy.min, policy.max);
  if (options.init) policy.init_scale = *options.init;
  policy.validate();
  return policy;
}

}  // namespace syclamp::program
