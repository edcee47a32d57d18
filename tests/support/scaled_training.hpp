// SPDX-License-Identifier: Apache-2.0
// A training code in miniature: FP32 gradients, weights that an optimizer adds them to, and a scaler.
#pragma once

#include <limits>
#include <vector>

#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline const float no_number = std::numeric_limits<float>::quiet_NaN();

/// weights += unscaled, clipped gradients; nothing if the decision says so. One kernel: climbing by SGD with rate 1.
class adding_optimizer final : public syclamp::optimizer {
 public:
  adding_optimizer(const syclamp::engine& engine, std::size_t elements, float* gradients)
      : weights_(engine.queue(), std::vector<float>(elements, 0.0f)),
        sgd_(engine, {{.gradient = {gradients, elements}, .model = {weights_.data(), elements}, .name = "weight"}},
             syclamp::sgd{.lr = 1, .maximize = true}) {}

  const syclamp::tensor_list& gradients() const override { return sgd_.gradients(); }
  bool check_numbers(std::uint32_t* invalid_numbers) override { return sgd_.check_numbers(invalid_numbers); }
  sycl::event apply(const syclamp::step_inputs& inputs) override { return sgd_.apply(inputs); }
  syclamp::fused_optimizer& inside() { return sgd_; }
  float weight(std::size_t index = 0) const { return weights_.read()[index]; }

 private:
  device_buffer<float> weights_;
  syclamp::fused_optimizer sgd_;
};

/// Gradients of one tensor that a test sets, an optimizer and a scaler.
struct training {
  static constexpr std::size_t elements = 100;

  explicit training(const syclamp::engine& engine, const syclamp::scaling_policy& policy = {},
                    const syclamp::scaler_options& options = {})
      : engine(engine),
        gradients(engine.queue(), std::vector<float>(elements, 0.0f)),
        optimizer(engine, elements, gradients.data()),
        scaler(engine, policy, options) {}

  /// The backward pass: every gradient is `value`, scaled; `special` is put at one place as it is.
  void backward(float value, float scale, float special = 0.0f) {
    std::vector<float> content(elements, value * scale);
    if (special != 0.0f) content[special_place] = special;
    engine.queue().memcpy(gradients.data(), content.data(), content.size() * sizeof(float)).wait();
  }

  /// A whole step whose unscaled gradients are `value`.
  syclamp::step_record step(float value, float special = 0.0f, const syclamp::step_options& options = {}) {
    const float scale = scaler.get_scale();
    scaler.begin_step();
    backward(value, scale, special);
    scaler.step(optimizer, options);
    scaler.update();
    return scaler.outcome();
  }

  static constexpr std::size_t special_place = 37;
  const syclamp::engine& engine;
  device_buffer<float> gradients;
  adding_optimizer optimizer;
  syclamp::loss_scaler scaler;
};
