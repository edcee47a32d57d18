// SPDX-License-Identifier: Apache-2.0
#include "apps/commands/policy_options.hpp"

#include <algorithm>

namespace syclamp::program {

void add_policy_options(CLI::App& command, policy_options& into) {
  command.add_option("--init", into.init, "First scale");
  command.add_option("--growth", into.growth,
                     "Factor of growth; a framework with one multiplier divides by it on overflow");
  command.add_option("--backoff", into.backoff, "Factor after an overflow");
  command.add_option("--interval", into.interval, "Clean steps before the scale grows");
  command.add_option("--min", into.min, "Smallest scale");
  command.add_option("--max", into.max, "Largest scale");
  command.add_option("--hysteresis", into.hysteresis, "Overflows up to a backoff, as the preset counts them");
}

scaling_policy policy_of(const std::string& preset_name, const policy_options& asked) {
  scaling_policy policy = preset(preset_name);
  const bool has_factors = asked.init || asked.growth || asked.backoff || asked.min || asked.max;
  if (has_factors) policy.power_of_two = false;
  if (asked.growth) policy.growth = *asked.growth;
  if (asked.backoff) {
    policy.backoff = *asked.backoff;
    policy.backoff_by_growth = false;
  }
  if (asked.interval) policy.interval = *asked.interval;
  if (asked.hysteresis) policy.hysteresis = *asked.hysteresis;
  if (asked.min) policy.min = *asked.min;
  if (asked.max) policy.max = *asked.max;
  // A default start gives way to limits that were asked for.
  if (policy.limits == limit_kind::clamp && policy.min <= policy.max)
    policy.init = std::clamp(policy.init, policy.min, policy.max);
  if (asked.init) policy.init = *asked.init;
  validate(policy);
  return policy;
}

}  // namespace syclamp::program
