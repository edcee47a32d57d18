// SPDX-License-Identifier: Apache-2.0
/// \file
/// Kinds of norms, and the result of computing a clip coefficient.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// The norms that clipping supports.
enum class norm_kind : std::uint32_t {
  l2,         ///< square root of the sum of squares
  l1,         ///< sum of absolute values; needs an inspector with `inspection_level::tensors`
  l_infinity  ///< largest absolute value
};

/// The norm of gradients and their clip coefficient. `clip_coefficient` writes it on the device; clip operations read
/// it there.
struct clip_result {
  float norm = 0.0f;  ///< norm of the unscaled gradients
  /// The clip coefficient: min(1, max_norm / (norm + 1e-6)); 1 if the norm is not finite; NaN if max_norm is negative
  /// or NaN.
  float coefficient = 1.0f;
};

}  // namespace SYCLAMP_NAMESPACE
