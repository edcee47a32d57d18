// SPDX-License-Identifier: Apache-2.0
// Options that change the numbers of a preset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "syclamp/syclamp.hpp"

namespace syclamp::program {

struct policy_options {
  std::optional<double> init, growth, backoff, min, max;
  std::optional<std::uint32_t> interval, hysteresis;

  bool has_any() const { return init || growth || backoff || min || max || interval || hysteresis; }
};

/// Adds --init, --growth, --backoff, --interval, --min, --max and --hysteresis.
/// \param options  must live as long as the command
void add_policy_options(CLI::App& command, policy_options& options);

/// A preset with the numbers of the options.
/// \throws invalid_argument if the resulting policy is invalid
scaling_policy policy_of(const std::string& preset_name, const policy_options& options);

}  // namespace syclamp::program
