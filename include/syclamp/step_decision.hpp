// SPDX-License-Identifier: Apache-2.0
/// \file
/// The decision on a step, for kernels that apply it.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// The decision on a step. `loss_scaler` writes it on the device. Kernels that apply a step, the library's or your own,
/// read it there:
///
///     if (decision->apply == 0) return;                    // leave weights and state exactly as they are
///     const float g = decision->gradient(float(grad[i]));  // unscaled and clipped
struct step_decision {
  std::uint32_t apply = 1;      ///< 0: skip the whole step
  float unscale_first = 1.0f;   ///< first factor of 1 / scale; 1 if the gradients are already unscaled
  float unscale_second = 1.0f;  ///< second factor. Neither factor is subnormal, and for a power of two both products
                                ///< are exact.
  float clip = 1.0f;            ///< clip coefficient, which reduces the norm to its limit; 1 without clipping

  /// Unscales and clips a gradient, or a vector of gradients.
  template <typename T>
  constexpr T gradient(T scaled) const {
    return scaled * unscale_first * unscale_second * clip;
  }
};

}  // namespace SYCLAMP_NAMESPACE
