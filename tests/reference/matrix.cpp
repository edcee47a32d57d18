// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/matrix.hpp"

#include <cmath>
#include <numbers>
#include <stdexcept>

namespace reference {

matrix transposed(const matrix& of) {
  matrix result(of.columns, of.rows);
  for (std::size_t row = 0; row < of.rows; ++row)
    for (std::size_t column = 0; column < of.columns; ++column) result.at(column, row) = of.at(row, column);
  return result;
}

double activated(std::string_view kind, double x) {
  if (kind == "none") return x;
  if (kind == "relu") return x > 0 ? x : 0;
  if (kind == "tanh") return std::tanh(x);
  if (kind == "gelu") return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  throw std::invalid_argument("there is no such activation");
}

matrix product(double alpha, const matrix& a, const matrix& b, double beta, const matrix& c,
               const std::vector<double>& bias, bool magnitudes) {
  const auto term = [&](double x) { return magnitudes ? std::abs(x) : x; };
  matrix result(a.rows, b.columns);
  for (std::size_t row = 0; row < result.rows; ++row)
    for (std::size_t column = 0; column < result.columns; ++column) {
      double sum = 0;
      for (std::size_t k = 0; k < a.columns; ++k) sum += term(a.at(row, k) * b.at(k, column));
      sum *= term(alpha);
      if (beta != 0) sum += term(beta * c.at(row, column));
      if (!bias.empty()) sum += term(bias.at(column));
      result.at(row, column) = sum;
    }
  return result;
}

}  // namespace reference
