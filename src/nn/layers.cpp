// SPDX-License-Identifier: Apache-2.0
#include "syclamp/nn/layers.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"

namespace SYCLAMP_NAMESPACE::nn {
namespace {

void check_type(const char* layer, const char* name, element_type type) {
  if (std::ranges::find(matrix_types, type) == std::end(matrix_types))
    throw invalid_argument(fmt::format("{}: {} is {}; it must be float16, bfloat16 or float32, so cast it first", layer,
                                       name, to_string(type)));
}

/// A matrix of a layer: of a type that can be used, neither transposed nor batched, and with as many rows and columns
/// as the first.
void check(const char* layer, const char* name, const const_matrix_view& matrix, const const_matrix_view& first) {
  check_type(layer, name, matrix.type());
  if (matrix.is_transposed() || matrix.batch() != 1)
    throw invalid_argument(fmt::format(
        "{}: {} is transposed or a batch, which only gemm accepts; pass a single matrix that is not transposed", layer,
        name));
  if (matrix.rows() != first.rows() || matrix.columns() != first.columns())
    throw invalid_argument(fmt::format("{}: {} is {} x {}; it must be {} x {}, like the first matrix", layer, name,
                                       matrix.rows(), matrix.columns(), first.rows(), first.columns()));
  if (matrix.stride() < matrix.columns())
    throw invalid_argument(fmt::format(
        "{}: rows of {} have {} elements, but their stride is only {}; make the stride at least the row length", layer,
        name, matrix.columns(), matrix.stride()));
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  if (matrix.rows() >= most || matrix.columns() >= most)
    throw invalid_argument(fmt::format("{}: {} is {} x {}; dimensions must be less than 2^31", layer, name,
                                       matrix.rows(), matrix.columns()));
  if (matrix.rows() != 0 && matrix.columns() != 0) check_given(layer, name, matrix.data());
}

void check(const char* layer, const char* name, const const_array_view& array, std::uint64_t count) {
  check_type(layer, name, array.type());
  if (array.count() != count)
    throw invalid_argument(fmt::format("{}: {} has {} elements; it must have {}", layer, name, array.count(), count));
  if (count != 0) check_given(layer, name, array.data());
}

bool is_empty(const matrix::matrix_shape& matrix) { return matrix.rows() == 0 || matrix.columns() == 0; }
const void* data_or_null(const const_array_view& array) { return array.count() != 0 ? array.data() : nullptr; }
std::uint32_t columns_of(const matrix::matrix_shape& matrix) { return static_cast<std::uint32_t>(matrix.columns()); }

/// How many work-groups of a kernel that sums up columns.
std::uint64_t groups_for_columns(const launch::kernel_library& library, std::uint64_t columns) {
  const rows_tuning& tuning = library.tuning().rows;
  const std::uint64_t share = std::uint64_t{tuning.max_lanes} * tuning.column_packs;
  return (columns + share - 1) / share;
}

sycl::event submit_mean(const engine& engine, const loss_values& loss, std::uint64_t rows, float weight) {
  return engine.kernels().submit(engine.queue(), launch::mean_of_rows, 1, loss.of_rows,
                                 static_cast<std::uint32_t>(rows), weight, loss.mean);
}

void check_loss(const char* layer, const loss_values& loss, const matrix::matrix_shape& matrix) {
  check_given(layer, "loss.of_rows", loss.of_rows);
  check_given(layer, "loss.mean", loss.mean);
  if (is_empty(matrix))
    throw invalid_argument(fmt::format(
        "{}: a matrix of {} x {} has no elements, so there is no mean loss; pass at least one row and one column",
        layer, matrix.rows(), matrix.columns()));
}

}  // namespace

sycl::event linear(const engine& engine, const const_matrix_view& x, const const_matrix_view& weight,
                   const const_array_view& bias, const matrix_view& y, activation function, std::string_view path,
                   const std::vector<sycl::event>& dependencies) {
  return gemm(engine, x, transposed(weight), y, {.bias = bias, .function = function, .path = path}, dependencies);
}

sycl::event linear_backward(const engine& engine, const const_matrix_view& x, const const_matrix_view& weight,
                            const const_matrix_view& dy, const linear_gradients& gradients, std::string_view path,
                            const std::vector<sycl::event>& dependencies) {
  sycl::event last = engine.order_after(dependencies);
  if (gradients.x) last = gemm(engine, dy, weight, *gradients.x, {.path = path});
  if (gradients.weight) last = gemm(engine, transposed(dy), x, *gradients.weight, {.path = path});
  if (gradients.bias.count() != 0) last = sum_rows(engine, dy, gradients.bias);
  return last;
}

sycl::event sum_rows(const engine& engine, const const_matrix_view& in, const array_view& sums,
                     const std::vector<sycl::event>& dependencies) {
  check("sum_rows", "in", in, in);
  check("sum_rows", "sums", sums, in.columns());
  sycl::event ordered = engine.order_after(dependencies);
  if (in.columns() == 0) return ordered;
  launch::kernel_library& library = engine.kernels();
  return library.submit(engine.queue(), launch::sum_rows, groups_for_columns(library, in.columns()), in.data(),
                        in.type(), in.stride(), in.rows(), columns_of(in), sums.data(), sums.type());
}

sycl::event activate(const engine& engine, const const_matrix_view& x, const matrix_view& y, activation f,
                     const const_array_view& bias, const std::vector<sycl::event>& dependencies) {
  check("activate", "x", x, x);
  check("activate", "y", y, x);
  if (bias.count() != 0) check("activate", "bias", bias, x.columns());
  sycl::event ordered = engine.order_after(dependencies);
  if (is_empty(x)) return ordered;
  launch::kernel_library& library = engine.kernels();
  return library.submit(engine.queue(), launch::activate_rows, library.groups_for(launch::activate_rows, x.rows()),
                        x.data(), x.type(), x.stride(), y.data(), y.type(), y.stride(), x.rows(), columns_of(x),
                        data_or_null(bias), bias.type(), f);
}

sycl::event activate_backward(const engine& engine, const const_matrix_view& x, const const_matrix_view& dy,
                              const matrix_view& dx, activation f, const const_array_view& bias,
                              const std::vector<sycl::event>& dependencies) {
  check("activate_backward", "x", x, x);
  check("activate_backward", "dy", dy, x);
  check("activate_backward", "dx", dx, x);
  if (bias.count() != 0) check("activate_backward", "bias", bias, x.columns());
  sycl::event ordered = engine.order_after(dependencies);
  if (is_empty(x)) return ordered;
  launch::kernel_library& library = engine.kernels();
  return library.submit(engine.queue(), launch::activate_gradient,
                        library.groups_for(launch::activate_gradient, x.rows()), x.data(), x.type(), x.stride(),
                        dy.data(), dy.type(), dy.stride(), dx.data(), dx.type(), dx.stride(), x.rows(), columns_of(x),
                        data_or_null(bias), bias.type(), f);
}

sycl::event layer_norm(const engine& engine, const const_matrix_view& x, const const_array_view& scale,
                       const const_array_view& shift, const matrix_view& y, const row_statistics& statistics,
                       float epsilon, const std::vector<sycl::event>& dependencies) {
  check("layer_norm", "x", x, x);
  check("layer_norm", "y", y, x);
  check("layer_norm", "scale", scale, x.columns());
  check("layer_norm", "shift", shift, x.columns());
  sycl::event ordered = engine.order_after(dependencies);
  if (is_empty(x)) return ordered;
  check_given("layer_norm", "statistics.mean", statistics.mean);
  check_given("layer_norm", "statistics.inverse_deviation", statistics.inverse_deviation);
  return engine.kernels().submit(engine.queue(), launch::layer_norm_rows, x.rows(), x.data(), x.type(), x.stride(),
                                 scale.data(), scale.type(), shift.data(), shift.type(), y.data(), y.type(), y.stride(),
                                 columns_of(x), epsilon, statistics.mean, statistics.inverse_deviation);
}

sycl::event layer_norm_backward(const engine& engine, const const_matrix_view& x, const const_array_view& scale,
                                const const_matrix_view& dy, const row_statistics& statistics, const matrix_view& dx,
                                const array_view& dscale, const array_view& dshift,
                                const std::vector<sycl::event>& dependencies) {
  const char* layer = "layer_norm_backward";
  check(layer, "x", x, x);
  check(layer, "dy", dy, x);
  check(layer, "dx", dx, x);
  check(layer, "scale", scale, x.columns());
  check(layer, "dscale", dscale, x.columns());
  check(layer, "dshift", dshift, x.columns());
  sycl::event ordered = engine.order_after(dependencies);
  if (x.columns() == 0) return ordered;
  check_given(layer, "statistics.mean", statistics.mean);
  check_given(layer, "statistics.inverse_deviation", statistics.inverse_deviation);
  launch::kernel_library& library = engine.kernels();
  // The sums first: dx may be dy.
  sycl::event sums =
      library.submit(engine.queue(), launch::layer_norm_sums, groups_for_columns(library, x.columns()), x.data(),
                     x.type(), x.stride(), dy.data(), dy.type(), dy.stride(), x.rows(), columns_of(x), statistics.mean,
                     statistics.inverse_deviation, dscale.data(), dscale.type(), dshift.data(), dshift.type());
  if (x.rows() == 0) return sums;
  return library.submit(engine.queue(), launch::layer_norm_gradient, x.rows(), x.data(), x.type(), x.stride(),
                        scale.data(), scale.type(), dy.data(), dy.type(), dy.stride(), dx.data(), dx.type(),
                        dx.stride(), columns_of(x), statistics.mean, statistics.inverse_deviation);
}

sycl::event softmax_cross_entropy(const engine& engine, const const_matrix_view& logits, const std::uint32_t* labels,
                                  const loss_values& loss, const std::optional<matrix_view>& gradient,
                                  const scalar& loss_scale, const std::vector<sycl::event>& dependencies) {
  const char* layer = "softmax_cross_entropy";
  check(layer, "logits", logits, logits);
  if (gradient) check(layer, "gradient", *gradient, logits);
  check_loss(layer, loss, logits);
  check_given(layer, "labels", labels);
  engine.order_after(dependencies);
  const auto weight = static_cast<float>(1.0 / static_cast<double>(logits.rows()));
  engine.kernels().submit(engine.queue(), launch::cross_entropy_rows, logits.rows(), logits.data(), logits.type(),
                          logits.stride(), labels, columns_of(logits), weight, loss_scale.address(), loss_scale.value(),
                          loss.of_rows, gradient ? gradient->data() : nullptr,
                          gradient ? gradient->type() : element_type::float32, gradient ? gradient->stride() : 0);
  return submit_mean(engine, loss, logits.rows(), weight);
}

sycl::event mean_squared_error(const engine& engine, const const_matrix_view& y, const const_matrix_view& target,
                               const loss_values& loss, const std::optional<matrix_view>& gradient,
                               const scalar& loss_scale, const std::vector<sycl::event>& dependencies) {
  const char* layer = "mean_squared_error";
  check(layer, "y", y, y);
  check(layer, "target", target, y);
  if (gradient) check(layer, "gradient", *gradient, y);
  check_loss(layer, loss, y);
  engine.order_after(dependencies);
  const auto weight = static_cast<float>(1.0 / (static_cast<double>(y.rows()) * static_cast<double>(y.columns())));
  engine.kernels().submit(engine.queue(), launch::squared_error_rows, y.rows(), y.data(), y.type(), y.stride(),
                          target.data(), target.type(), target.stride(), columns_of(y), weight, loss_scale.address(),
                          loss_scale.value(), loss.of_rows, gradient ? gradient->data() : nullptr,
                          gradient ? gradient->type() : element_type::float32, gradient ? gradient->stride() : 0);
  return submit_mean(engine, loss, y.rows(), weight);
}

}  // namespace SYCLAMP_NAMESPACE::nn
