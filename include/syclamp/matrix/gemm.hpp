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

struct gemm_options {
  float alpha = 1.0f;
  float beta = 0.0f;  ///< 0: what was in C is not read, be it a NaN

  /// One number for each column of C, of any of the three types, which is added to every row. No elements: none.
  const_array_view bias = {};
  activation function = activation::none;

  /// Name of the path to take, one of `gemm_paths`. Empty: the one that the environment variable SYCLAMP_GEMM names, or
  /// else the best that the device has for these types and sizes.
  std::string_view path = {};
};

/// C = then(alpha · A · B + beta · C + bias), with products and sums in FP32 and any of FP16, BF16 and FP32 in and out.
///
/// What is written is rounded once, to nearest even. (A path of a vendor's library writes C before bias and activation,
/// which are another kernel then: C is rounded once more. The order of its sums is its own, too.) Batches: A and B have
/// as many matrices as C, or one, which is used for all. Does not wait or allocate memory of the device. No product at
/// all (columns of A = 0) counts as 0. Begins when the dependencies are complete; the event is complete when C is
/// written.
/// \throws invalid_argument if sizes do not fit, a type is none of the three, C is transposed or may overlap A, B or
/// the
///         bias, or a path is asked for that does not exist or cannot do this product
SYCLAMP_API sycl::event gemm(const engine& engine, const const_matrix_view& a, const const_matrix_view& b,
                             const matrix_view& c, const gemm_options& options = {},
                             const std::vector<sycl::event>& dependencies = {});

/// A way to multiply matrices.
struct gemm_path_report {
  std::string name;     ///< cublas, rocblas, onemkl, joint_matrix, portable
  bool usable = false;  ///< on this device, for some types at least
  std::string note;     ///< what it is, or why it cannot be used
};

/// The paths that this build has, the preferred one first.
SYCLAMP_API std::vector<gemm_path_report> gemm_paths(const engine& engine);

/// Name of the path that `gemm` would take.
/// \throws invalid_argument as `gemm` does
SYCLAMP_API std::string gemm_path_for(const engine& engine, const const_matrix_view& a, const const_matrix_view& b,
                                      const matrix_view& c, const gemm_options& options = {});

}  // namespace SYCLAMP_NAMESPACE::matrix
