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

/// Of an odd number of numbers, at least one.
double median(std::vector<double> numbers);

/// Calls both in turn, so that whatever else the machine does meets both alike. Each must return when it is done.
comparison alternate(int repetitions, const std::function<void()>& ours, const std::function<void()>& reference);

/// FNV-1a of some bytes, in hexadecimal.
std::string checksum(const void* data, std::size_t bytes);

}  // namespace syclamp::bench
