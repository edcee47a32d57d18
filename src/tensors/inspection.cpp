// SPDX-License-Identifier: Apache-2.0
#include "syclamp/inspection.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace syclamp {
namespace {

/// Exact, whatever the type.
double largest(const inspection& seen) { return std::bit_cast<double>(seen.worst_bits); }

}  // namespace

double norm(const inspection& seen, norm_kind kind) {
  if (kind == norm_kind::l_infinity) return largest(seen);
  if (kind == norm_kind::l1) return std::ldexp(static_cast<double>(seen.sum_of_magnitudes), seen.magnitudes_exponent);
  return std::sqrt(std::ldexp(static_cast<double>(seen.sum_of_squares), seen.squares_exponent));
}

double headroom(const inspection& seen, double limit) {
  if (!std::isfinite(largest(seen))) return std::numeric_limits<double>::quiet_NaN();
  return std::log2(limit / largest(seen));
}

}  // namespace syclamp
