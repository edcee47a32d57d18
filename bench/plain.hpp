// SPDX-License-Identifier: Apache-2.0
// Checks the whole result of an operation with plain loops in double. They share no code with the library.
#pragma once

#include <cstdint>
#include <vector>

#include "syclamp/syclamp.hpp"

namespace syclamp::bench {

/// The elements of an array of `fill`, exactly.
std::vector<double> decoded(const void* data, std::uint64_t count, element_type type);

/// True if the inspection result of `gradients`, which are stored as `type`, is correct.
bool is_true_of(const inspection& result, const std::vector<double>& gradients, element_type type);

/// True if each element of `out` is `factor` times its gradient, rounded once to nearest even.
bool holds_product(const void* out, element_type type, const std::vector<double>& gradients, double factor);

/// True if `weights` are the result of one step from weights that were all 1. \param factor  unscales and clips the
/// gradients
bool holds_first_step(const std::vector<float>& weights, const std::vector<double>& gradients, double factor,
                      const optimizer_settings& settings);

/// Norm of the gradients.
double norm_of(const std::vector<double>& gradients);

}  // namespace syclamp::bench
