// SPDX-License-Identifier: Apache-2.0
#include "syclamp/inspection.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace SYCLAMP_NAMESPACE {
namespace {

/// Exact for every element type.
double largest(const inspection& result) { return std::bit_cast<double>(result.amax_bits); }

}  // namespace

double inspection::norm(norm_kind kind) const {
  if (kind == norm_kind::l_infinity) return largest(*this);
  if (kind == norm_kind::l1) return std::ldexp(static_cast<double>(abs_sum), abs_sum_exponent);
  return std::sqrt(std::ldexp(static_cast<double>(sum_of_squares), squares_exponent));
}

double inspection::headroom(double amax_limit) const {
  if (!std::isfinite(largest(*this))) return std::numeric_limits<double>::quiet_NaN();
  return std::log2(amax_limit / largest(*this));
}

}  // namespace SYCLAMP_NAMESPACE
