// SPDX-License-Identifier: Apache-2.0
// Results of layers and losses with their gradients, and how far FP32 arithmetic may move each number.
//
// Gradients are finite differences of the definitions in layers.hpp. Inputs must be between -1 and 1, biases as well.
// The errors are those before a result is rounded to its type: see `half_spacing`.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tests/reference/matrix.hpp"

namespace reference {

struct bounded_values {
  std::vector<double> values;
  std::vector<double> errors;
};

/// \param x  the input plus the bias
bounded_values activation_results(std::string_view kind, const std::vector<double>& x);

/// Gradients with respect to x.
/// \param dy  gradients with respect to the result
bounded_values activation_gradients(std::string_view kind, const std::vector<double>& x, const std::vector<double>& dy);

/// The sum of each column, over all rows.
bounded_values row_sums(const matrix& in);

struct layer_norm_results {
  bounded_values y, dx, dscale, dshift;
};
layer_norm_results layer_norm_with_gradients(const matrix& x, const std::vector<double>& scale,
                                             const std::vector<double>& shift, const matrix& dy, double epsilon);

struct loss_results {
  double loss, loss_error;
  bounded_values gradient;  ///< times the loss scale
};
loss_results cross_entropy_with_gradient(const matrix& logits, const std::vector<std::uint32_t>& labels,
                                         double loss_scale);
loss_results squared_error_with_gradient(const matrix& y, const matrix& target, double loss_scale);

}  // namespace reference
