// SPDX-License-Identifier: Apache-2.0
// How long a user waits before anything happens.
#pragma once

#include <string>

namespace syclamp::bench {

struct start_up_times {
  double cold_first_operation = 0;  ///< a new process with an empty kernel cache, until it has inspected an array
  double warm_first_operation = 0;  ///< the same again, kernels from the cache
  double warm_info = 0;             ///< `syclamp info`, kernels from the cache
};

/// Starts `program` (the syclamp program) anew for each figure, with a kernel cache of its own. Medians of a few runs.
start_up_times measure_start_up(const std::string& program);

/// What the new processes do: make an engine, inspect an array, end.
void first_operation();

}  // namespace syclamp::bench
