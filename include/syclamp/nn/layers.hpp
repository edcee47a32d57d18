// SPDX-License-Identifier: Apache-2.0
/// \file
/// The few layers that examples need; not a framework. Forward and backward are functions on matrices of the caller's.
///
/// All of them compute in FP32 registers, whatever the storage, sum up in a fixed order (same data, same profile: same
/// bits), and write nothing but what they say. None waits or allocates. A row is a sample, a column a feature. Matrices
/// are as in gemm.hpp (FP16, BF16 or FP32) but not transposed and not batched; so are arrays.
///
/// Each of them begins when its `dependencies` are complete and everything before it on the engine's queue is. The
/// event that it returns is complete when everything is written.
///
///     linear(on, x, w1, b1, h, activation::none);      // h = x · w1ᵀ + b1
///     activate(on, h, a, activation::gelu);
///     linear(on, a, w2, b2, y);
///     scaler.begin_step();                       // the next line multiplies dy by the scale
///     mean_squared_error(on, y, target, {row_losses, loss}, dy, scaler.device_scale());
///     linear_backward(on, a, w2, dy, {.x = da, .weight = dw2, .bias = db2});
///     activate_backward(on, h, da, dh, activation::gelu);
///     linear_backward(on, x, w1, dh, {.weight = dw1, .bias = db1});
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <syclamp/array_view.hpp>
#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>
#include <syclamp/matrix/activation.hpp>
#include <syclamp/matrix/gemm.hpp>
#include <syclamp/matrix/matrix_view.hpp>
#include <syclamp/scalar.hpp>

namespace SYCLAMP_NAMESPACE::nn {

// Layers are called with matrices and activations: their names are names of this module, too.
using matrix::activation;
using matrix::const_matrix_view;
using matrix::matrix_view;

/// y = then(x · weightᵀ + bias). The weight has a row for each output, as in PyTorch; the bias may have no elements.
/// Whoever needs the gradient of an activation other than ReLU keeps what it was applied to: see `activate`.
/// \param path  of gemm
/// \throws invalid_argument as `gemm` does
SYCLAMP_API sycl::event linear(const engine& engine, const const_matrix_view& x, const const_matrix_view& weight,
                               const const_array_view& bias, const matrix_view& y,
                               activation function = activation::none, std::string_view path = {},
                               const std::vector<sycl::event>& dependencies = {});

/// Where gradients go; those that are left out are not computed.
struct linear_gradients {
  std::optional<matrix_view> x = {};       ///< dy · weight
  std::optional<matrix_view> weight = {};  ///< dyᵀ · x
  array_view bias = {};                    ///< sums over the rows of dy
};

/// The gradients of `linear` without activation.
/// \throws invalid_argument as `gemm` does
SYCLAMP_API sycl::event linear_backward(const engine& engine, const const_matrix_view& x,
                                        const const_matrix_view& weight, const const_matrix_view& dy,
                                        const linear_gradients& gradients, std::string_view path = {},
                                        const std::vector<sycl::event>& dependencies = {});

/// sums[column] = Σ in[row][column].
SYCLAMP_API sycl::event sum_rows(const engine& engine, const const_matrix_view& in, const array_view& sums,
                                 const std::vector<sycl::event>& dependencies = {});

/// y = f(x + bias); y may be x. The bias, one number for each column, may have no elements.
SYCLAMP_API sycl::event activate(const engine& engine, const const_matrix_view& x, const matrix_view& y, activation f,
                                 const const_array_view& bias = {}, const std::vector<sycl::event>& dependencies = {});

/// dx = dy · f'(x + bias); dx may be dy.
SYCLAMP_API sycl::event activate_backward(const engine& engine, const const_matrix_view& x, const const_matrix_view& dy,
                                          const matrix_view& dx, activation f, const const_array_view& bias = {},
                                          const std::vector<sycl::event>& dependencies = {});

/// What the forward pass of a layer norm leaves for the backward one: FP32 in device memory, one for each row.
struct row_statistics {
  float* mean;
  float* inverse_deviation;  ///< 1 / √(variance + epsilon)
};

/// y = (x - mean) / √(variance + epsilon) · scale + shift, with mean and variance of each row.
SYCLAMP_API sycl::event layer_norm(const engine& engine, const const_matrix_view& x, const const_array_view& scale,
                                   const const_array_view& shift, const matrix_view& y,
                                   const row_statistics& statistics, float epsilon = 1e-5f,
                                   const std::vector<sycl::event>& dependencies = {});

/// The gradients of `layer_norm` with respect to x, scale and shift.
SYCLAMP_API sycl::event layer_norm_backward(const engine& engine, const const_matrix_view& x,
                                            const const_array_view& scale, const const_matrix_view& dy,
                                            const row_statistics& statistics, const matrix_view& dx,
                                            const array_view& dscale, const array_view& dshift,
                                            const std::vector<sycl::event>& dependencies = {});

/// Where a loss goes: FP32 in device memory.
struct loss_values {
  float* of_rows;  ///< one for each row
  float* mean;     ///< one number
};

/// The mean over all rows of log Σ exp(logits) - logits[label], and its gradient times the loss scale.
///
/// The scale is applied in FP32 before the gradient is rounded. Logits of any size are safe. A label that is not a
/// column makes the loss and the gradient of its row NaN.
/// \param gradient    may be the logits; nothing: only the loss is computed
SYCLAMP_API sycl::event softmax_cross_entropy(const engine& engine, const const_matrix_view& logits,
                                              const std::uint32_t* labels, const loss_values& loss,
                                              const std::optional<matrix_view>& gradient,
                                              const scalar& loss_scale = 1.0f,
                                              const std::vector<sycl::event>& dependencies = {});

/// The mean over all elements of (y - target)², and its gradient with respect to y times the loss scale. `of_rows` gets
/// the sum of each row.
/// \param gradient    may be y; nothing: only the loss is computed
SYCLAMP_API sycl::event mean_squared_error(const engine& engine, const const_matrix_view& y,
                                           const const_matrix_view& target, const loss_values& loss,
                                           const std::optional<matrix_view>& gradient, const scalar& loss_scale = 1.0f,
                                           const std::vector<sycl::event>& dependencies = {});

}  // namespace SYCLAMP_NAMESPACE::nn
