// SPDX-License-Identifier: Apache-2.0
/// \file
/// Norms, and what clipping by one found.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Which norm of a vector is meant.
enum class norm_kind : std::uint32_t {
  l2,         ///< square root of the sum of squares
  l1,         ///< sum of absolute values; needs an inspector with `inspection_level::tensors`
  l_infinity  ///< largest absolute value
};

/// Written on the device by `clip_coefficient`, read there by the operations that clip.
struct clip_result {
  float norm = 0.0f;  ///< of the unscaled gradients
  float coefficient =
      1.0f;  ///< min(1, max_norm / (norm + 1e-6)); 1 if the norm is not finite; NaN if max_norm is negative or NaN
};

}  // namespace SYCLAMP_NAMESPACE
