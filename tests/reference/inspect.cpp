// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/inspect.hpp"

#include <algorithm>
#include <cmath>

namespace reference {

statistics inspect(std::uint64_t count, number_format format,
                   const std::function<std::uint64_t(std::uint64_t)>& element) {
  statistics found;
  for (std::uint64_t i = 0; i < count; ++i) {
    const number x = decode(element(i), format);
    if (x.value_kind == kind::infinity || x.value_kind == kind::nan) {
      ++(x.value_kind == kind::nan ? found.nan_count : found.inf_count);
      found.first_nonfinite = std::min(found.first_nonfinite, i);
      continue;
    }
    if (x.value_kind == kind::zero) ++found.zero_count;
    if (x.value_kind == kind::subnormal) ++found.subnormal_count;
    found.amax = std::max(found.amax, std::abs(x.value));
    found.sum_of_squares += x.value * x.value;
    found.abs_sum += std::abs(x.value);
    if (x.value != 0) ++found.exponents[std::ilogb(x.value)];
  }
  return found;
}

std::size_t exponent_bin(double x) {
  const double single = rounded_to_float(x);
  if (!std::isfinite(single)) return 255;
  return static_cast<std::size_t>(std::max(std::ilogb(single), -127) + 127);
}

}  // namespace reference
