// SPDX-License-Identifier: Apache-2.0
// What loss scaling costs, in times rather than in bytes: each figure is one time over another of the same run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench.hpp"

namespace syclamp::bench {

struct cost {
  double seconds = 0;            ///< median
  double reference_seconds = 0;  ///< median of what it is compared with, alternated
  bool verified = false;         ///< both did what their names say
};

struct cost_row {
  const char* name;
  const char* compares;                                                        ///< for people
  std::function<std::optional<cost>(const engine&, const settings&)> measure;  ///< nothing: not on this device
};

/// In the order in which they run.
const std::vector<cost_row>& costs();

}  // namespace syclamp::bench
