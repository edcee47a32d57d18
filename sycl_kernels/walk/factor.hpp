// SPDX-License-Identifier: Apache-2.0
// The factor of element-wise kernels: 1, a number in device memory, or its reciprocal.
#pragma once

#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/walk/segment.hpp"

namespace syclamp::kernels {

/// A factor as two, one after the other: where 1/S alone would be subnormal, each of them is a normal number, and for a
/// power of two both products are exact.
struct factor_pair {
  float first, second;

  factor_pair(float value, factor_kind kind) : first(1.0f), second(1.0f) {
    if (kind == factor_kind::multiply) {
      first = value;
    } else if (kind == factor_kind::divide) {
      first = value >= 0x1p100f ? 0x1p-64f : 1.0f;
      second = 1.0f / (value * first);
    }
  }

  /// The factor of the tensor to which `piece` belongs.
  /// The factors lie `stride` floats apart; if their address is null, all of them are `value`.
  factor_pair(const float* factors, float value, factor_kind kind, factor_per per, std::uint32_t stride,
              const segment& piece)
      : factor_pair(factors == nullptr ? value : factors[index(per, piece) * stride], kind) {}

  template <typename V>
  V operator()(V x) const {
    return x * first * second;
  }

 private:
  static std::uint64_t index(factor_per per, const segment& piece) {
    return per == factor_per::list ? 0 : per == factor_per::tensor ? piece.tensor() : piece.group();
  }
};

}  // namespace syclamp::kernels
