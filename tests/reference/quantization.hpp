// SPDX-License-Identifier: Apache-2.0
// Quantisation from its definition: scales that follow the largest values of a tensor, and fake quantisation.
#pragma once

#include <cstddef>
#include <deque>

namespace reference {

/// The scale of one tensor by the rule of Transformer Engine, in double, as quantization.hpp of the library states it.
struct delayed_scale {
  double limit;        ///< the largest number of the small format
  std::size_t length;  ///< of the history
  int margin = 0;
  bool latest_only = false;

  double scale = 1;
  std::deque<double> history = {};

  /// \param amax  the largest absolute value of the tensor; Inf or NaN if one was found
  void update(double amax);
};

/// What an element becomes that is rounded as if it were stored as an integer in [-limit, limit], as an FP32.
double fake_quantized(double x, double scale, double limit);

/// True if the gradient of `fake_quantized` at `x` is passed on, and false if it becomes 0.
bool is_in_range(double x, double scale, double limit);

}  // namespace reference
