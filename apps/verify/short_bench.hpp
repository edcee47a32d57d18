// SPDX-License-Identifier: Apache-2.0
// How fast the main operations are, measured against the device's own copy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "syclamp/syclamp.hpp"

namespace syclamp::verify {

/// `seconds_…` and `gbps` as in `syclamp bench`. Bytes per element are those that the operation must move.
struct bench_row {
  std::string op;
  std::string grad_type;
  double bytes_per_element = 0;
  double seconds_median = 0;
  double seconds_min = 0;
  double gbps = 0;
  double copy_gbps = 0;       ///< best of the copies by `queue::memcpy` in device memory, alternated with the operation
  std::uint64_t kernels = 0;  ///< submitted by one call
};

/// One operation on gradients of one type.
struct bench_task {
  std::string op;
  element_type type;
  std::function<bench_row()> measure;
};

std::vector<bench_task> bench_tasks(const engine& engine, std::uint64_t elements, int repetitions);

}  // namespace syclamp::verify
