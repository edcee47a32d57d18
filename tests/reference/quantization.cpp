// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/quantization.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/numbers.hpp"

namespace reference {

void delayed_scale::update(double amax) {
  const bool known = std::isfinite(amax);
  history.push_front(known ? amax : 0);
  if (history.size() > length) history.pop_back();
  if (!known) return;
  const double largest = latest_only ? amax : *std::max_element(history.begin(), history.end());
  if (largest == 0) return;
  const double wanted = rounded_to_float(limit * std::ldexp(1.0, -margin) / largest);
  scale = std::clamp(wanted, 0x1p-126, static_cast<double>(std::numeric_limits<float>::max()));
}

double fake_quantized(double x, double scale, double limit) {
  const double scaled = rounded_to_float(x * scale);
  const double kept = std::isnan(x) ? x : std::nearbyint(std::clamp(scaled, -limit, limit));
  return rounded_to_float(kept / scale);
}

bool is_in_range(double x, double scale, double limit) {
  return std::abs(std::nearbyint(rounded_to_float(x * scale))) <= limit;
}

}  // namespace reference
