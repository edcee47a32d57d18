// SPDX-License-Identifier: Apache-2.0
/// \file
/// What clipping by norm found.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

namespace syclamp {

/// Written on the device by `clip_coefficient`, read there by the operations that clip.
struct clip_result {
  float norm = 0.0f;         ///< Euclidean norm of the unscaled gradients
  float coefficient = 1.0f;  ///< min(1, max_norm / (norm + 1e-6)); 1 if the norm is not finite
};

}  // namespace syclamp
