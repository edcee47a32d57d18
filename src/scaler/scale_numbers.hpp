// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "sycl_kernels/shared/scale_number.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// A number that is finite and not negative, exactly.
inline scale_number to_scale_number(double value) {
  if (value == 0) return {};
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return {static_cast<std::uint64_t>(std::ldexp(fraction, kernels::significand_bits)),
          exponent - kernels::significand_bits};
}

inline double to_double(const scale_number& number) {
  return std::ldexp(static_cast<double>(number.significand), number.exponent);
}

}  // namespace SYCLAMP_NAMESPACE
