// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a kernel that applies a step has to know.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Written on the device by `loss_scaler`, read there by kernels that apply a step, the library's or your own:
///
///     if (decision->apply == 0) return;                    // leave weights and state exactly as they are
///     const float g = decision->gradient(float(grad[i]));  // unscaled and clipped
struct step_decision {
  std::uint32_t apply = 1;      ///< 0: this step is to be skipped as a whole
  float unscale_first = 1.0f;   ///< the reciprocal of the scale, as two factors: neither is subnormal, and for a power
  float unscale_second = 1.0f;  ///< of two both products are exact. 1 and 1 if the gradients are unscaled already
  float clip = 1.0f;            ///< the factor that brings the norm down to its limit; 1 if there is none

  /// A gradient, or a pack of them, unscaled and clipped.
  template <typename T>
  constexpr T gradient(T scaled) const {
    return scaled * unscale_first * unscale_second * clip;
  }
};

}  // namespace SYCLAMP_NAMESPACE
