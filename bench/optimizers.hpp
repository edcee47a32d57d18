// SPDX-License-Identifier: Apache-2.0
// Whole steps of optimizers: inspect, apply, update.
#pragma once

#include <utility>
#include <vector>

#include "bench/bench.hpp"

namespace syclamp::bench {

/// `<optimizer>_step` and `<optimizer>_step_clip` of every optimizer for which there is a native loop.
std::vector<std::pair<std::string, operation>> optimizer_operations();

}  // namespace syclamp::bench
