// SPDX-License-Identifier: Apache-2.0
// Layers and losses from their definitions, in double; and gradients of anything by finite differences.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/reference/matrix.hpp"

namespace reference {

matrix layer_norm(const matrix& x, const std::vector<double>& scale, const std::vector<double>& shift, double epsilon);

/// The mean over all rows of -log softmax(logits)[label].
double cross_entropy(const matrix& logits, const std::vector<std::uint32_t>& labels);

/// The mean over all elements of (y - target)².
double squared_error(const matrix& y, const matrix& target);

/// Σ a · b over all elements: turns a matrix into one number, which has a gradient.
double inner_product(const matrix& a, const matrix& b);

/// The gradient of `f` at `x` by central differences. Their error is of the order of `step`² times a third derivative,
/// and of 1e-16 / `step` times the value.
std::vector<double> gradient(const std::function<double(const std::vector<double>&)>& f, std::vector<double> x,
                             double step = 1e-4);

}  // namespace reference
