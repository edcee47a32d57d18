// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "tests/reference/numbers.hpp"

namespace reference {

struct statistics {
  std::uint64_t inf_count = 0, nan_count = 0, zero_count = 0, subnormal_count = 0;
  std::uint64_t first_nonfinite = ~std::uint64_t{0};
  double amax = 0;            ///< of the finite elements
  double sum_of_squares = 0;  ///< of the finite elements
  double abs_sum = 0;
  std::map<int, std::uint64_t> exponents;  ///< how many finite elements but zero have which exponent
};

/// Inspects elements 0 to count-1; `element(i)` returns the bits of an element.
statistics inspect(std::uint64_t count, number_format format,
                   const std::function<std::uint64_t(std::uint64_t)>& element);

/// The bin of the library's histogram of exponents that counts an element which is not zero: the exponent of its FP32
/// plus 127, 0 for FP32 subnormals, 255 for what is not finite in FP32.
std::size_t exponent_bin(double x);

}  // namespace reference
