// SPDX-License-Identifier: Apache-2.0
// Start-up times of a process.
#pragma once

#include <string>

namespace syclamp::bench {

/// Seconds that a new process takes from its start to its end.
struct start_up_time {
  double cold = 0;  ///< with an empty kernel cache: the driver makes native code
  double warm = 0;  ///< the same again, native code from the cache
};

struct start_up_times {
  start_up_time first_operation;  ///< makes an engine and inspects an array
  start_up_time first_step;       ///< makes an engine, a scaler and an optimizer, and takes one step of AdamW
  start_up_time info;             ///< `syclamp info`
};

/// Starts a new process of `program` (the syclamp program) for each figure, with its own kernel cache. Medians of a few
/// runs.
start_up_times measure_start_up(const std::string& program);

/// The work of the new processes.
void first_operation();
void first_step();

}  // namespace syclamp::bench
