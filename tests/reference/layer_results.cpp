// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/layer_results.hpp"

#include <algorithm>
#include <cmath>

#include "tests/reference/layers.hpp"

namespace reference {
namespace {

constexpr double rounding = 0x1p-24;  // the largest relative error of one rounding to FP32

/// The same bound for all values.
bounded_values bounded_alike(std::vector<double> values, double error) {
  const std::size_t count = values.size();
  return {std::move(values), std::vector<double>(count, error)};
}

matrix row_of(const matrix& from, std::size_t row) {
  matrix result(1, from.columns);
  for (std::size_t column = 0; column < from.columns; ++column) result.at(0, column) = from.at(row, column);
  return result;
}

matrix one_row(const std::vector<double>& values) {
  matrix result(1, values.size());
  result.values = values;
  return result;
}

/// Functions of arguments below 2, to a few units in the last place.
constexpr double activation_error = 16 * rounding;

double activation_slope(std::string_view kind, double x) {
  if (kind == "relu") return x > 0 ? 1.0 : 0.0;  // a difference across the bend at 0 is no slope
  return gradient([&](const std::vector<double>& at) { return activated(kind, at[0]); }, {x})[0];
}

/// The largest of the factors by which rows are multiplied: 1 / √(variance + epsilon).
double steepest_row(const matrix& x, double epsilon) {
  double steepest = 0;
  const auto size = static_cast<double>(x.columns);
  for (std::size_t row = 0; row < x.rows; ++row) {
    double mean = 0, variance = 0;
    for (std::size_t column = 0; column < x.columns; ++column) mean += x.at(row, column) / size;
    for (std::size_t column = 0; column < x.columns; ++column)
      variance += (x.at(row, column) - mean) * (x.at(row, column) - mean) / size;
    steepest = std::max(steepest, 1 / std::sqrt(variance + epsilon));
  }
  return steepest;
}

}  // namespace

bounded_values activation_results(std::string_view kind, const std::vector<double>& x) {
  std::vector<double> values;
  for (const double argument : x) values.push_back(activated(kind, argument));
  return bounded_alike(std::move(values), activation_error);
}

bounded_values activation_gradients(std::string_view kind, const std::vector<double>& x,
                                    const std::vector<double>& dy) {
  std::vector<double> values;
  for (std::size_t i = 0; i < x.size(); ++i) values.push_back(activation_slope(kind, x[i]) * dy.at(i));
  // Third derivatives are below 3, and the step of the differences is 1e-4.
  return bounded_alike(std::move(values), 2 * activation_error + 1e-8);
}

bounded_values row_sums(const matrix& in) {
  bounded_values sums{std::vector<double>(in.columns), std::vector<double>(in.columns)};
  // Sums of blocks of at most 64 rows, then of at most as many blocks as there are, then a tree of 16 strands.
  const double roundings = 64.0 + static_cast<double>(in.rows) / 64 + 5;
  for (std::size_t i = 0; i < in.values.size(); ++i) {
    sums.values[i % in.columns] += in.values[i];
    sums.errors[i % in.columns] += roundings * rounding * std::abs(in.values[i]);
  }
  return sums;
}

layer_norm_results layer_norm_with_gradients(const matrix& x, const std::vector<double>& scale,
                                             const std::vector<double>& shift, const matrix& dy, double epsilon) {
  // A mean and a variance of n numbers below 1 err by n roundings each; what is divided by a deviation of at least
  // √epsilon errs by as much over it. Third derivatives of the normalised row are below 6 / deviation³.
  const double steepest = steepest_row(x, epsilon);
  const double error = (2.0 * static_cast<double>(x.columns) + 16) * rounding * steepest;
  const double differences = 1e-10 * steepest * steepest * steepest * 4 + 1e-9;
  const double sums = static_cast<double>(x.rows) * (2 * error + 4 * rounding) + 1e-9;

  std::vector<double> dx;
  for (std::size_t row = 0; row < x.rows; ++row) {  // rows are independent of each other
    const matrix weights = row_of(dy, row);
    const auto loss = [&](const std::vector<double>& from) {
      return inner_product(weights, layer_norm(one_row(from), scale, shift, epsilon));
    };
    const auto of_row = gradient(loss, row_of(x, row).values, 1e-5);
    dx.insert(dx.end(), of_row.begin(), of_row.end());
  }
  const auto by_scale = [&](const std::vector<double>& factors) {
    return inner_product(dy, layer_norm(x, factors, shift, epsilon));
  };
  const auto by_shift = [&](const std::vector<double>& offsets) {
    return inner_product(dy, layer_norm(x, scale, offsets, epsilon));
  };
  return {.y = bounded_alike(layer_norm(x, scale, shift, epsilon).values, 2 * error),
          .dx = bounded_alike(std::move(dx), 4 * error * steepest + differences),
          .dscale = bounded_alike(gradient(by_scale, scale), sums),
          .dshift = bounded_alike(gradient(by_shift, shift), sums)};
}

loss_results cross_entropy_with_gradient(const matrix& logits, const std::vector<std::uint32_t>& labels,
                                         double loss_scale) {
  // A sum of n exponentials, a logarithm and a mean over rows, of numbers that are below log n + 2.
  const double roundings = static_cast<double>(logits.columns + logits.rows) / 2 + 24;
  const double share = loss_scale / static_cast<double>(logits.rows);
  std::vector<double> values;
  for (std::size_t row = 0; row < logits.rows; ++row) {  // the loss is a mean over independent rows
    const auto loss = [&](const std::vector<double>& from) { return cross_entropy(one_row(from), {labels.at(row)}); };
    for (const double slope : gradient(loss, row_of(logits, row).values)) values.push_back(slope * share);
  }
  return {.loss = cross_entropy(logits, labels),
          .loss_error = roundings * rounding * (std::log(logits.columns) + 2),
          .gradient = bounded_alike(std::move(values), share * (roundings * rounding + 1e-8))};
}

loss_results squared_error_with_gradient(const matrix& y, const matrix& target, double loss_scale) {
  const double loss = squared_error(y, target);
  const auto elements = static_cast<double>(y.values.size());
  std::vector<double> values;
  for (std::size_t i = 0; i < y.values.size(); ++i) {  // the loss is a mean over independent elements
    const auto one = [&](const std::vector<double>& from) {
      return squared_error(one_row(from), one_row({target.values[i]}));
    };
    values.push_back(gradient(one, {y.values[i]})[0] * loss_scale / elements);
  }
  return {.loss = loss,
          .loss_error = (static_cast<double>(y.rows + y.columns) + 8) * rounding * loss,
          .gradient = bounded_alike(std::move(values), 4 * loss_scale / elements * (4 * rounding + 1e-9))};
}

}  // namespace reference
