// SPDX-License-Identifier: Apache-2.0
// The cost of loss scaling as ratios of times: each figure is one time divided by another of the same run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench.hpp"

namespace syclamp::bench {

struct cost {
  double seconds = 0;            ///< median
  double reference_seconds = 0;  ///< median of the reference, alternated with the measured operation
  bool verified = false;         ///< both results were checked
};

struct cost_row {
  const char* name;
  const char* compares;                                                        ///< for people
  std::function<std::optional<cost>(const engine&, const settings&)> measure;  ///< empty if the device cannot do it
};

/// In the order in which they run.
const std::vector<cost_row>& costs();

}  // namespace syclamp::bench
