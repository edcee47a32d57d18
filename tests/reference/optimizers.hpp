// SPDX-License-Identifier: Apache-2.0
// Optimizers from their definitions (those of PyTorch's documentation and of the papers), one element at a time, in
// double.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace reference {

struct optimizer_settings {
  std::string_view optimizer;  ///< a name of the tables in optimizers.cpp
  double lr = 0, weight_decay = 0, eps = 0, beta1 = 0, beta2 = 0, momentum = 0, dampening = 0, lr_decay = 0, alpha = 0,
         rho = 0;
  bool nesterov = false, amsgrad = false, centered = false, maximize = false;
};

struct element {
  double weight = 0;
  std::array<double, 3> state = {};  ///< in the order in which PyTorch names them; see each function
};

/// An element after a step, and how large the terms were from which each number was added up: in FP32 it is right to a
/// small multiple of eps of that.
struct stepped {
  element next;
  double weight_size = 0;
  std::array<double, 3> state_size = {};

  /// The direction is the sign of a number that is so near to 0 that rounding may change it.
  bool is_undecided = false;
};

/// Tolerance: FP32 results agree with the oracle to 32 u of the size of their terms, where u = 2^-24 is half a unit in
/// the last place, the error of one rounding:
///   a gradient, multiplied by the clip coefficient, plus decay: 2 u, or 3 u with the rounded decay
///   a first moment: β and 1 - β are rounded, two products, one sum: 4 u, and the gradient's 3 u
///   a second moment: one product and one gradient more, 5 u + 6 u; the root halves all but its own error: 7 u
///   the scalars: 1 - β^t to 4 u, lr and the quotient: 6 u; the root of the other scalar and its reciprocal: 4 u
///   the quotient of the moments: 7 u + 7 u + 4 u + 1 u; times the step: 6 u + 1 u; the new weight: 1 u
/// That is 27 u at most. A rule that takes more says so beside its definition (tests/reference/optimizers.cpp).
/// Subnormals have an absolute error.
/// \param size  of the terms from which the number was added up
constexpr double rounding_error(double size) { return 32 * 0x1p-24 * size + 0x1p-140; }

/// Step number `t`, 1 being the first, with the gradient `g`, unscaled and clipped.
/// \throws std::out_of_range if there is no such optimizer
stepped step(const optimizer_settings& by, std::uint64_t t, double g, const element& now);

/// The same for optimizers that need all elements of a tensor. `second` is a second moment per tensor, if there is one.
std::vector<stepped> step_of_tensor(const optimizer_settings& by, std::uint64_t t, const std::vector<double>& g,
                                    const std::vector<element>& now, double& second);

/// The factor of a learning rate after `applied` steps: linear warm-up, then constant, cosine or steps.
double cosine_factor(std::uint64_t applied, std::uint64_t warm_up, std::uint64_t steps, double lowest);
double decay_factor(std::uint64_t applied, std::uint64_t warm_up, std::uint64_t steps, double gamma);

}  // namespace reference
