// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrix products in mixed precision.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <syclamp/array_view.hpp>
#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>
#include <syclamp/matrix/activation.hpp>
#include <syclamp/matrix/matrix_view.hpp>

namespace SYCLAMP_NAMESPACE::matrix {

/// Options of `gemm`.
struct gemm_options {
  float alpha = 1.0f;  ///< factor of the product
  float beta = 0.0f;   ///< factor of the old C; 0: the old C is not read and may hold NaN

  /// One number per column of C, in FP16, BF16 or FP32, which is added to every row. Default: no bias.
  const_array_view bias = {};
  activation function = activation::none;  ///< applied to every element of C

  /// The name of the path to use, one of `gemm_paths`. Default: the environment variable SYCLAMP_GEMM, else the best
  /// path of the device for these types and sizes.
  std::string_view path = {};
};

/// Multiplies matrices: C = function(alpha · A · B + beta · C + bias). Inputs and outputs are FP16, BF16 or FP32 in any
/// combination; products and sums are FP32. Does not wait or allocate device memory.
///
/// Results are rounded once, to nearest even. Paths of vendor libraries sum in their own order. They apply bias and
/// activation in a second kernel, so C is then rounded twice.
///
/// Batches: A and B have as many matrices as C, or one, which is used for all. If A has no columns, the product is 0.
/// \param engine        the device and queue
/// \param a             m × k
/// \param b             k × n
/// \param c             m × n, not transposed; must not overlap A, B or the bias
/// \param options       factors, bias, activation and path
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when C is written
/// \throws invalid_argument if sizes do not fit, a type is not supported, C is transposed or may overlap A, B or the
///         bias, or the requested path does not exist or cannot compute this product
SYCLAMP_API sycl::event gemm(const engine& engine, const const_matrix_view& a, const const_matrix_view& b,
                             const matrix_view& c, const gemm_options& options = {},
                             const std::vector<sycl::event>& dependencies = {});

/// The description of a path: an implementation of `gemm`.
struct gemm_path_report {
  std::string name;     ///< cublas, rocblas, onemkl, joint_matrix, portable
  bool usable = false;  ///< true if the device can use it, at least for some types
  std::string note;     ///< a description, or why it cannot be used
};

/// The paths of this build, the preferred path first.
SYCLAMP_API std::vector<gemm_path_report> gemm_paths(const engine& engine);

/// The name of the path that `gemm` would use for these arguments.
/// \throws invalid_argument as `gemm` does
SYCLAMP_API std::string gemm_path_for(const engine& engine, const const_matrix_view& a, const const_matrix_view& b,
                                      const matrix_view& c, const gemm_options& options = {});

}  // namespace SYCLAMP_NAMESPACE::matrix
