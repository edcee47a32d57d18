// SPDX-License-Identifier: Apache-2.0
/// \file
/// A few layers and losses for examples and small models; this is not a framework. Forward and backward passes are
/// functions on matrices that the caller owns.
///
/// All functions compute in FP32 and sum in a fixed order, so equal data and equal profiles give equal bits. None waits
/// or allocates. A row is a sample, a column a feature. Matrices and arrays are FP16, BF16 or FP32. Except for
/// `linear`, matrices must be neither transposed nor batched.
///
/// A function begins when its `dependencies` and all earlier commands of the engine's queue are complete. The event
/// that it returns is complete when all results are written. All functions throw invalid_argument if a type, a size or
/// an address is wrong.
///
///     linear(engine, x, w1, b1, h);                    // h = x · w1ᵀ + b1
///     activate(engine, h, a, activation::gelu);
///     linear(engine, a, w2, b2, y);
///     const device_value scale(engine, scaler.begin_step());
///     mean_squared_error(engine, y, target, {row_losses, loss}, dy, scale);   // dy is scaled
///     linear_backward(engine, a, w2, dy, {.x = da, .weight = dw2, .bias = db2});
///     activate_backward(engine, h, da, dh, activation::gelu);
///     linear_backward(engine, x, w1, dh, {.weight = dw1, .bias = db1});
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

// Types of the module `matrix` that the functions of this module take.
using matrix::activation;
using matrix::const_matrix_view;
using matrix::matrix_view;

/// A linear layer: y = function(x · weightᵀ + bias).
///
/// To compute the gradient of an activation other than ReLU later, keep its input: call `linear` without an activation,
/// then `activate`.
/// \param engine        the device and queue
/// \param x             samples × inputs
/// \param weight        outputs × inputs, as in PyTorch
/// \param bias          one number per output; may be empty
/// \param y             samples × outputs
/// \param function      activation
/// \param path          path of `gemm`; default: `gemm` chooses
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when y is written
/// \throws invalid_argument as `gemm` does
SYCLAMP_API sycl::event linear(const engine& engine, const const_matrix_view& x, const const_matrix_view& weight,
                               const const_array_view& bias, const matrix_view& y,
                               activation function = activation::none, std::string_view path = {},
                               const std::vector<sycl::event>& dependencies = {});

/// The outputs of `linear_backward`. Gradients that are omitted are not computed.
struct linear_gradients {
  std::optional<matrix_view> x = {};       ///< dy · weight
  std::optional<matrix_view> weight = {};  ///< dyᵀ · x
  array_view bias = {};                    ///< sums over the rows of dy
};

/// Computes the gradients of `linear` without activation.
/// \param engine        the device and queue
/// \param x             the input of `linear`
/// \param weight        the weight of `linear`
/// \param dy            gradients with respect to y; may be scaled
/// \param gradients     receives the gradients
/// \param path          path of `gemm`; default: `gemm` chooses
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when all gradients are written
/// \throws invalid_argument as `gemm` does
SYCLAMP_API sycl::event linear_backward(const engine& engine, const const_matrix_view& x,
                                        const const_matrix_view& weight, const const_matrix_view& dy,
                                        const linear_gradients& gradients, std::string_view path = {},
                                        const std::vector<sycl::event>& dependencies = {});

/// Sums over the rows: sums[column] = Σ in[row][column].
SYCLAMP_API sycl::event sum_rows(const engine& engine, const const_matrix_view& in, const array_view& sums,
                                 const std::vector<sycl::event>& dependencies = {});

/// Applies bias and activation: y = f(x + bias). y may be x. The bias has one number per column, or is empty.
SYCLAMP_API sycl::event activate(const engine& engine, const const_matrix_view& x, const matrix_view& y, activation f,
                                 const const_array_view& bias = {}, const std::vector<sycl::event>& dependencies = {});

/// Computes the gradient of `activate`: dx = dy · f'(x + bias). dx may be dy.
SYCLAMP_API sycl::event activate_backward(const engine& engine, const const_matrix_view& x, const const_matrix_view& dy,
                                          const matrix_view& dx, activation f, const const_array_view& bias = {},
                                          const std::vector<sycl::event>& dependencies = {});

/// Row statistics that `layer_norm` writes and `layer_norm_backward` reads: FP32 in device memory owned by the caller,
/// one number per row.
struct row_statistics {
  float* mean;               ///< mean of each row
  float* inverse_deviation;  ///< 1 / √(variance + epsilon)
};

/// Layer normalisation: y = (x - mean) / √(variance + epsilon) · scale + shift, with mean and variance of each row.
/// \param engine        the device and queue
/// \param x             input
/// \param scale         one number per column
/// \param shift         one number per column
/// \param y             output of the size of x
/// \param statistics    receives mean and deviation of each row, for the backward pass
/// \param epsilon       added to the variance
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when y is written
SYCLAMP_API sycl::event layer_norm(const engine& engine, const const_matrix_view& x, const const_array_view& scale,
                                   const const_array_view& shift, const matrix_view& y,
                                   const row_statistics& statistics, float epsilon = 1e-5f,
                                   const std::vector<sycl::event>& dependencies = {});

/// Computes the gradients of `layer_norm` with respect to x, scale and shift. dx may be dy.
SYCLAMP_API sycl::event layer_norm_backward(const engine& engine, const const_matrix_view& x,
                                            const const_array_view& scale, const const_matrix_view& dy,
                                            const row_statistics& statistics, const matrix_view& dx,
                                            const array_view& dscale, const array_view& dshift,
                                            const std::vector<sycl::event>& dependencies = {});

/// The outputs of a loss: FP32 in device memory owned by the caller.
struct loss_values {
  float* of_rows;  ///< one number per row
  float* mean;     ///< the loss: one number
};

/// Softmax cross-entropy: the mean over all rows of log Σ exp(logits) - logits[label], and its gradient times the loss
/// scale.
///
/// The loss scale is applied in FP32 before the gradient is rounded. Large logits do not overflow. A label that is not
/// a column makes the loss and the gradient of its row NaN.
/// \param engine        the device and queue
/// \param logits        samples × classes
/// \param labels        one class per sample, in device memory
/// \param loss          receives the loss
/// \param gradient      receives the gradient with respect to the logits; may be the logits. Empty: only the loss is
///                      computed.
/// \param loss_scale    factor of the gradient
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when all results are written
SYCLAMP_API sycl::event softmax_cross_entropy(const engine& engine, const const_matrix_view& logits,
                                              const std::uint32_t* labels, const loss_values& loss,
                                              const std::optional<matrix_view>& gradient,
                                              const scalar& loss_scale = 1.0f,
                                              const std::vector<sycl::event>& dependencies = {});

/// Mean squared error: the mean over all elements of (y - target)², and its gradient times the loss scale.
/// `loss.of_rows` receives the sum of each row.
/// \param engine        the device and queue
/// \param y             output of the model
/// \param target        expected output
/// \param loss          receives the loss
/// \param gradient      receives the gradient with respect to y; may be y. Empty: only the loss is computed.
/// \param loss_scale    factor of the gradient, applied in FP32 before rounding
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when all results are written
SYCLAMP_API sycl::event mean_squared_error(const engine& engine, const const_matrix_view& y,
                                           const const_matrix_view& target, const loss_values& loss,
                                           const std::optional<matrix_view>& gradient, const scalar& loss_scale = 1.0f,
                                           const std::vector<sycl::event>& dependencies = {});

}  // namespace SYCLAMP_NAMESPACE::nn
