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
