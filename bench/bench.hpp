// SPDX-License-Identifier: Apache-2.0
// Measures operations against native loops that move the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "syclamp/syclamp.hpp"

namespace syclamp::bench {

struct settings {
  std::uint64_t elements = std::uint64_t{1} << 25;  ///< over all tensors
  std::uint64_t tensors = 1;
  int repetitions = 101;
};

/// One row of results. Times are of one call; the first, slow calls are left out.
struct result {
  std::string op;
  std::string grad_type;
  std::uint64_t elements = 0;
  std::uint64_t tensors = 0;
  double bytes_per_element = 0;
  double seconds_median = 0;
  double seconds_min = 0;
  double gbps = 0;            ///< bytes that the operation must move, over the median time
  double reference_gbps = 0;  ///< the same for the native loop, alternated with the operation
  double ratio = 0;           ///< gbps / reference_gbps
  std::uint64_t kernels = 0;  ///< kernels submitted by one call
  std::string checksum;       ///< of the result: equal on equal devices
  bool verified = false;      ///< the whole result was compared with a plain loop in double
};

using operation = std::function<result(const engine&, element_type, const settings&)>;

/// The operations by name, in the order in which they run.
const std::vector<std::pair<std::string, operation>>& operations();

}  // namespace syclamp::bench
