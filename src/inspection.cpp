// SPDX-License-Identifier: Apache-2.0
#include "syclamp/inspection.hpp"

#include <cmath>
#include <limits>

namespace syclamp {

double norm(const inspection& seen) { return std::sqrt(static_cast<double>(seen.sum_of_squares)); }

double headroom(const inspection& seen, double limit) {
  if (!seen.all_finite()) return std::numeric_limits<double>::quiet_NaN();
  return std::log2(limit / static_cast<double>(seen.amax));
}

}  // namespace syclamp
