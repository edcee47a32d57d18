// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small training run. Numbers are powers of two, so results are exact.
#pragma once

#include <limits>

#include "tests/c/support.hpp"

namespace c_tests {

inline constexpr float inf = std::numeric_limits<float>::infinity();

/// Four FP32 weights, which are 1 at the beginning. By default SGD with lr = 1/2.
struct training {
  device_floats gradient{std::vector<float>(4, 0.0f)}, model{std::vector<float>(4, 1.0f)};
  owned<syclamp_optimizer> optimizer;
  owned<syclamp_scaler> scaler;

  explicit training(const syclamp_policy* policy = nullptr, const syclamp_scaler_options* options = nullptr,
                    const syclamp_optimizer_settings& chosen = settings(SYCLAMP_SGD, 0.5))
      : optimizer(optimizer_of(gradient, model, chosen)), scaler(scaler_of(policy, options)) {}

  /// Writes gradients that are `values` after unscaling.
  void backward(const std::vector<float>& values) {
    float scale = 0;
    ok(syclamp_scaler_get_scale(scaler, 0, &scale));
    std::vector<float> scaled = values;
    for (float& value : scaled) value *= scale;
    gradient.write(scaled);
  }

  /// A whole step.
  void step(const std::vector<float>& values, const syclamp_step_options* options = nullptr) {
    backward(values);
    ok(syclamp_scaler_begin_step(scaler, nullptr));
    ok(syclamp_scaler_step(scaler, optimizer, options));
    ok(syclamp_scaler_update(scaler));
  }
};

/// Copies a text of the library, and frees the original.
inline std::string take(char* text) {
  std::string copy = text;
  ok(syclamp_text_free(text));
  return copy;
}

}  // namespace c_tests
