// SPDX-License-Identifier: Apache-2.0
// Products of matrices and activations from their definitions, in double.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace reference {

/// Row by row.
struct matrix {
  matrix(std::size_t number_of_rows, std::size_t number_of_columns)
      : rows(number_of_rows), columns(number_of_columns), values(rows * columns) {}

  double& at(std::size_t row, std::size_t column) { return values.at(row * columns + column); }
  double at(std::size_t row, std::size_t column) const { return values.at(row * columns + column); }

  std::size_t rows, columns;
  std::vector<double> values;
};

matrix transposed(const matrix& of);

/// none, relu, gelu (by tanh) or tanh.
double activated(std::string_view kind, double x);

/// alpha · a · b + beta · c + bias, which may be empty. With `magnitudes`, the same of absolute values: what rounding
/// errors are relative to. If beta is 0, c counts as 0, whatever it is.
matrix product(double alpha, const matrix& a, const matrix& b, double beta, const matrix& c,
               const std::vector<double>& bias, bool magnitudes = false);

/// How far rounding in FP32 may move an element of the product. A sum of k products, in whatever order, errs by at most
/// k roundings of the sum of magnitudes; alpha, beta and the bias add one each, and the result is rounded once.
constexpr double product_error(std::size_t k, double magnitude) {
  return (static_cast<double>(k) + 4) * 0x1p-24 * magnitude;
}

}  // namespace reference
