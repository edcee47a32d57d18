// SPDX-License-Identifier: Apache-2.0
/// \file
/// Activation functions.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE::matrix {

/// Activation functions. They are computed in FP32, whatever the storage type.
enum class activation : std::uint32_t {
  none,  ///< x
  relu,  ///< max(x, 0); NaN stays NaN
  gelu,  ///< x · Φ(x) in the tanh approximation of GPT-2, JAX and cuBLASLt; within 5e-4 of the exact function
  tanh,  ///< hyperbolic tangent
};

/// All activation functions.
inline constexpr activation activations[] = {activation::none, activation::relu, activation::gelu, activation::tanh};

/// The name of an activation: `none`, `relu`, `gelu` or `tanh`.
constexpr const char* to_string(activation kind) {
  switch (kind) {
    case activation::none: return "none";
    case activation::relu: return "relu";
    case activation::gelu: return "gelu";
    case activation::tanh: return "tanh";
  }
  return "unknown";
}

}  // namespace SYCLAMP_NAMESPACE::matrix
