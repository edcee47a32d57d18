// SPDX-License-Identifier: Apache-2.0
// Layers and losses, forward and backward, against the oracle.
#include <fmt/format.h>

#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"
#include "syclamp/nn/nn.hpp"
#include "tests/reference/layer_results.hpp"

namespace syclamp::verify {
namespace {

struct layer_shape {
  std::size_t rows, columns;
};

/// Quick: more rows than a block of sums has, and more packs than a sub-group has work-items.
std::vector<layer_shape> shapes(const settings& settings) {
  if (settings.quick) return {{70, 264}};
  return {{1, 2}, {1, 17}, {5, 3}, {7, 64}, {3, 65}, {130, 10}, {70, 264}, {2, 600}};
}

/// How rows are placed in memory.
enum class layout {
  aligned,  ///< rows begin at multiples of 16 bytes, so that kernels access packs
  odd,      ///< rows begin anywhere
};

/// A matrix of numbers between -1 and 1. The gaps between its rows hold NaNs, so a kernel that reads them spoils its
/// results.
template <typename Format>
class guarded_matrix {
 public:
  using bits = typename Format::bits;

  guarded_matrix(const engine& engine, const layer_shape& shape, layout placed, std::uint32_t seed)
      : shape_(shape),
        stride_(shape.columns + (placed == layout::aligned ? 16 - shape.columns % 8 : 3)),
        memory_(engine, image(seed), placed == layout::aligned ? 0 : 1) {}

  nn::matrix_view view() const { return {memory_.data(), shape_.rows, shape_.columns, Format::type, stride_}; }
  array_view first_row() const { return {memory_.data(), shape_.columns, Format::type}; }

  reference::matrix read() const {
    const auto all = memory_.values();
    reference::matrix result(shape_.rows, shape_.columns);
    for (std::size_t row = 0; row < shape_.rows; ++row)
      for (std::size_t column = 0; column < shape_.columns; ++column)
        result.at(row, column) = all[row * stride_ + column];
    return result;
  }

  std::string difference(const reference::bounded_values& expected) const {
    std::vector<bounded> bounds;
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
      const double value = expected.values[i], error = expected.errors[i];
      bounds.push_back({value, error + reference::half_spacing(std::abs(value) + error, Format::format)});
    }
    const std::string wrong = compare_values(read().values, bounds);
    return wrong.empty() ? written_outside() : wrong;
  }

 private:
  std::vector<bits> image(std::uint32_t seed) const {
    auto data = uniform_numbers<Format>(shape_.rows * stride_, seed);
    for (std::size_t i = 0; i < data.size(); ++i)
      if (i % stride_ >= shape_.columns) data[i] = Format::quiet_nan;
    return data;
  }

  std::string written_outside() const {
    const auto now = memory_.read();
    for (std::size_t i = 0; i < now.size(); ++i)
      if (i % stride_ >= shape_.columns && now[i] != Format::quiet_nan) return "memory between the rows was written";
    return memory_.written_outside();
  }

  layer_shape shape_;
  std::size_t stride_;
  guarded_tensor<Format> memory_;
};

template <typename Format>
std::string activation_difference(const engine& engine, const layer_shape& shape, layout placed) {
  for (const matrix::activation kind : matrix::activations) {
    const guarded_matrix<Format> x(engine, shape, placed, 1), dy(engine, shape, placed, 2);
    const guarded_matrix<Format> y(engine, shape, placed, 3), dx(engine, shape, placed, 4);
    const guarded_matrix<float32> bias(engine, {1, shape.columns}, placed, 5);
    nn::activate(engine, x.view(), y.view(), kind, bias.first_row());
    nn::activate_backward(engine, x.view(), dy.view(), dx.view(), kind, bias.first_row());
    auto at = x.read().values;
    const auto added = bias.read().values;
    for (std::size_t i = 0; i < at.size(); ++i) at[i] += added[i % shape.columns];
    const auto name = to_string(kind);
    const std::string difference =
        first_difference({in_part("y", y.difference(reference::activation_results(name, at))),
                          in_part("dx", dx.difference(reference::activation_gradients(name, at, dy.read().values)))});
    if (!difference.empty()) return fmt::format("{}, {}", name, difference);
  }
  return {};
}

template <typename Format>
std::string row_sums_difference(const engine& engine, const layer_shape& shape, layout placed) {
  const guarded_matrix<Format> in(engine, shape, placed, 1);
  const guarded_matrix<float32> sums(engine, {1, shape.columns}, placed, 2);
  nn::sum_rows(engine, in.view(), sums.first_row());
  return sums.difference(reference::row_sums(in.read()));
}

template <typename Format>
std::string layer_norm_difference(const engine& engine, const layer_shape& shape, layout placed) {
  constexpr float epsilon = 1e-3f;
  const layer_shape one_row{1, shape.columns};
  const guarded_matrix<Format> x(engine, shape, placed, 1), dy(engine, shape, placed, 2);
  const guarded_matrix<Format> y(engine, shape, placed, 3), dx(engine, shape, placed, 4);
  const guarded_matrix<float32> scale(engine, one_row, placed, 5), dscale(engine, one_row, placed, 6),
      dshift(engine, one_row, placed, 7);
  const guarded_matrix<Format> shift(engine, one_row, placed, 8);
  const device_array<float> mean(engine, shape.rows), inverse_deviation(engine, shape.rows);
  const nn::row_statistics statistics{mean.data(), inverse_deviation.data()};
  nn::layer_norm(engine, x.view(), scale.first_row(), shift.first_row(), y.view(), statistics, epsilon);
  nn::layer_norm_backward(engine, x.view(), scale.first_row(), dy.view(), statistics, dx.view(), dscale.first_row(),
                          dshift.first_row());
  const auto expected = reference::layer_norm_with_gradients(x.read(), scale.read().values, shift.read().values,
                                                             dy.read(), static_cast<double>(epsilon));
  return first_difference({in_part("y", y.difference(expected.y)), in_part("dx", dx.difference(expected.dx)),
                           in_part("dscale", dscale.difference(expected.dscale)),
                           in_part("dshift", dshift.difference(expected.dshift))});
}

constexpr float loss_scale = 1024.0f;

/// Losses in device memory.
struct device_loss {
  device_loss(const engine& engine, std::size_t rows) : of_rows(engine, rows), mean(engine, 1) {}
  nn::loss_values view() const { return {of_rows.data(), mean.data()}; }
  std::string difference(const reference::loss_results& expected) const {
    const double value = static_cast<double>(mean.to_vector().front());
    return compare_values(std::vector{value}, std::vector{bounded{expected.loss, expected.loss_error}});
  }

  device_array<float> of_rows, mean;
};

template <typename Format>
std::string cross_entropy_difference(const engine& engine, const layer_shape& shape, layout placed) {
  const guarded_matrix<Format> logits(engine, shape, placed, 1), gradient(engine, shape, placed, 2);
  std::vector<std::uint32_t> labels(shape.rows);
  for (std::size_t row = 0; row < shape.rows; ++row) labels[row] = static_cast<std::uint32_t>(row * 7 % shape.columns);
  const device_array<std::uint32_t> device_labels(engine, labels);
  const device_loss loss(engine, shape.rows);
  nn::softmax_cross_entropy(engine, logits.view(), device_labels.data(), loss.view(), gradient.view(), loss_scale);
  const auto expected = reference::cross_entropy_with_gradient(logits.read(), labels, static_cast<double>(loss_scale));
  return first_difference(
      {in_part("loss", loss.difference(expected)), in_part("gradient", gradient.difference(expected.gradient))});
}

template <typename Format>
std::string squared_error_difference(const engine& engine, const layer_shape& shape, layout placed) {
  const guarded_matrix<Format> y(engine, shape, placed, 1), gradient(engine, shape, placed, 2);
  const guarded_matrix<float32> target(engine, shape, placed, 3);
  const device_loss loss(engine, shape.rows);
  nn::mean_squared_error(engine, y.view(), target.view(), loss.view(), gradient.view(), loss_scale);
  const auto expected =
      reference::squared_error_with_gradient(y.read(), target.read(), static_cast<double>(loss_scale));
  return first_difference(
      {in_part("loss", loss.difference(expected)), in_part("gradient", gradient.difference(expected.gradient))});
}

/// Calls `difference(Format, shape, layout)` for every type, shape and layout. Keeps the first difference of each type.
template <typename Difference>
std::string over_shapes(const settings& settings, Difference difference) {
  std::string all;
  for_each_gradient_type([&](auto format) {
    for (const layer_shape& shape : shapes(settings))
      for (const layout placed : {layout::aligned, layout::odd}) {
        const std::string found = difference(format, shape, placed);
        if (found.empty()) continue;
        add_difference(all,
                       fmt::format("{}, {} x {}, {}", to_string(format.type), shape.rows, shape.columns,
                                   placed == layout::aligned ? "aligned" : "not aligned"),
                       found);
        return;
      }
  });
  return all;
}

}  // namespace

std::vector<check> layer_checks(const engine& engine, const settings& settings) {
  const std::size_t count = shapes(settings).size();
  const std::string grid =
      fmt::format("3 types, {} shape{}, aligned or not, forward and backward", count, count == 1 ? "" : "s");
  const auto over = [=](const auto& difference, const std::string& detail) {
    return [=] { return passed_unless(over_shapes(settings, difference), detail); };
  };
  constexpr const char* remedy =
      "Update the driver of the device and run verify again. Only the module nn uses these kernels.";
  return {
      {"activations", remedy,
       over([=](auto format, const layer_shape& shape,
                layout placed) { return activation_difference<decltype(format)>(engine, shape, placed); },
            grid)},
      {"row sums", remedy,
       over([=](auto format, const layer_shape& shape,
                layout placed) { return row_sums_difference<decltype(format)>(engine, shape, placed); },
            fmt::format("3 types, {} shape{}, aligned or not", count, count == 1 ? "" : "s"))},
      {"layer norm", remedy,
       over([=](auto format, const layer_shape& shape,
                layout placed) { return layer_norm_difference<decltype(format)>(engine, shape, placed); },
            grid)},
      {"cross-entropy", remedy,
       over([=](auto format, const layer_shape& shape,
                layout placed) { return cross_entropy_difference<decltype(format)>(engine, shape, placed); },
            grid)},
      {"squared error", remedy,
       over([=](auto format, const layer_shape& shape,
                layout placed) { return squared_error_difference<decltype(format)>(engine, shape, placed); },
            grid)},
  };
}

}  // namespace syclamp::verify
