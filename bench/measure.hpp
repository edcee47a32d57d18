// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace syclamp::bench {

struct timing {
  double median = 0;
  double min = 0;
};

struct comparison {
  timing ours;
  timing reference;
};

/// The median of an odd number of values.
double median(std::vector<double> numbers);

/// Calls both alternately, so that other load on the machine affects both equally. Each must return when it is done.
comparison alternate(int repetitions, const std::function<void()>& ours, const std::function<void()>& reference);

/// FNV-1a of some bytes, in hexadecimal.
std::string checksum(const void* data, std::size_t bytes);

}  // namespace syclamp::bench
