// SPDX-License-Identifier: Apache-2.0
#include "apps/commands/policy_options.hpp"

#include <algorithm>

namespace syclamp::program {

void add_policy_options(CLI::App& command, policy_options& options) {
  command.add_option("--init", options.init, "First scale");
  command.add_option("--growth", options.growth,
                     "Factor of growth; a framework with one multiplier divides by it on overflow");
  command.add_option("--backoff", options.backoff, "Factor after an overflow");
  command.add_option("--interval", options.interval, "Clean steps before the scale grows");
  command.add_option("--min", options.min, "Smallest scale");
  command.add_option("--max", options.max, "Largest scale");
  command.add_option("--hysteresis", options.hysteresis, "Overflows up to a backoff, as the preset counts them");
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
  // A default start gives way to limits that were asked for.
  if (policy.replay.bounds == bounds_kind::clamp && policy.min <= policy.max)
    policy.init_scale = std::clamp(policy.init_scale, policy.min, policy.max);
  if (options.init) policy.init_scale = *options.init;
  policy.validate();
  return policy;
}

}  // namespace syclamp::program
