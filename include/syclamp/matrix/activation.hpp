// SPDX-License-Identifier: Apache-2.0
/// \file
/// The non-linear functions that follow a matrix product.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE::matrix {

/// Computed in FP32, whatever the storage.
enum class activation : std::uint32_t {
  none,
  relu,  ///< max(x, 0); a NaN stays one
  gelu,  ///< x · Φ(x) in its usual approximation by tanh, as in GPT-2, JAX and cuBLASLt; within 5e-4 of the exact one
  tanh,
};

/// Every activation, for those who iterate over them.
inline constexpr activation activations[] = {activation::none, activation::relu, activation::gelu, activation::tanh};

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
