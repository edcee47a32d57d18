// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/layers.hpp"

#include <algorithm>
#include <cmath>

namespace reference {

matrix layer_norm(const matrix& x, const std::vector<double>& scale, const std::vector<double>& shift, double epsilon) {
  matrix y(x.rows, x.columns);
  const auto size = static_cast<double>(x.columns);
  for (std::size_t row = 0; row < x.rows; ++row) {
    double mean = 0, variance = 0;
    for (std::size_t column = 0; column < x.columns; ++column) mean += x.at(row, column) / size;
    for (std::size_t column = 0; column < x.columns; ++column)
      variance += (x.at(row, column) - mean) * (x.at(row, column) - mean) / size;
    for (std::size_t column = 0; column < x.columns; ++column)
      y.at(row, column) =
          (x.at(row, column) - mean) / std::sqrt(variance + epsilon) * scale.at(column) + shift.at(column);
  }
  return y;
}

double cross_entropy(const matrix& logits, const std::vector<std::uint32_t>& labels) {
  double loss = 0;
  for (std::size_t row = 0; row < logits.rows; ++row) {
    double largest = logits.at(row, 0), sum = 0;
    for (std::size_t column = 0; column < logits.columns; ++column) largest = std::max(largest, logits.at(row, column));
    for (std::size_t column = 0; column < logits.columns; ++column) sum += std::exp(logits.at(row, column) - largest);
    loss += std::log(sum) + largest - logits.at(row, labels.at(row));
  }
  return loss / static_cast<double>(logits.rows);
}

double squared_error(const matrix& y, const matrix& target) {
  double sum = 0;
  for (std::size_t i = 0; i < y.values.size(); ++i)
    sum += (y.values.at(i) - target.values.at(i)) * (y.values.at(i) - target.values.at(i));
  return sum / static_cast<double>(y.values.size());
}

double inner_product(const matrix& a, const matrix& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += a.values.at(i) * b.values.at(i);
  return sum;
}

std::vector<double> gradient(const std::function<double(const std::vector<double>&)>& f, std::vector<double> x,
                             double step) {
  std::vector<double> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double here = x[i];
    x[i] = here + step;
    const double above = f(x);
    x[i] = here - step;
    const double below = f(x);
    x[i] = here;
    result[i] = (above - below) / (2 * step);
  }
  return result;
}

}  // namespace reference
