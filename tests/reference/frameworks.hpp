// SPDX-License-Identifier: Apache-2.0
// How other frameworks move their loss scale: one small model for each preset of the library, to compare it with.
//
// The facts come from the frameworks' own sources, which src/scaler/presets.cpp cites; the code is this project's.
//
// In all of them, and unlike the frameworks: no scale leaves [2^-126, FLT_MAX]. Growth whose FP32 would not be finite
// is not done, though all that goes with it is (counters, hysteresis); frameworks with a ceiling of their own go to it.
// A framework that raises an exception at its floor continues here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reference {

/// An empty setting means the framework's default. If a framework has no min or max, they bound the scale after backoff
/// and growth. If it has no hysteresis or tolerance, they are ignored.
struct framework_settings {
  std::optional<double> init = {};
  std::optional<double> growth = {};   ///< of a framework with one multiplier: that multiplier
  std::optional<double> backoff = {};  ///< of a framework with one multiplier: multiply by this instead of dividing
  std::optional<double> min = {}, max = {};
  std::optional<double> tolerance = {};          ///< fairseq: the tolerated share of overflows
  std::optional<std::uint32_t> interval = {};    ///< clean steps to growth
  std::optional<std::uint32_t> hysteresis = {};  ///< overflows to backing off
};

/// The scale that the loss of this step was multiplied by, and the one for the next; FP32, whatever the framework
/// keeps.
struct framework_step {
  float scale_before, scale_after;
  bool applied;
};

enum class gradient { clean, inf, nan };

class framework {
 public:
  virtual ~framework() = default;
  /// openseq2seq-logmax alone looks at the largest magnitude of a clean step's gradients, unscaled.
  virtual framework_step step(gradient found, double unscaled_amax = 0) = 0;
  virtual void set_interval(std::uint32_t interval) = 0;
};

/// Throws std::invalid_argument if there is none of that name. Settings are not checked.
std::unique_ptr<framework> make_framework(const std::string& name, const framework_settings& settings = {});

std::vector<std::string> framework_names();

}  // namespace reference
