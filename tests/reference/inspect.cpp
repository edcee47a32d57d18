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
    if (x.what == kind::infinity || x.what == kind::nan) {
      ++(x.what == kind::nan ? found.nans : found.infs);
      found.first_bad = std::min(found.first_bad, i);
      continue;
    }
    if (x.what == kind::zero) ++found.zeros;
    if (x.what == kind::subnormal) ++found.subnormals;
    found.amax = std::max(found.amax, std::abs(x.value));
    found.sum_of_squares += x.value * x.value;
    found.sum_of_magnitudes += std::abs(x.value);
    if (x.value != 0) ++found.exponents[std::ilogb(x.value)];
  }
  return found;
}

}  // namespace reference
