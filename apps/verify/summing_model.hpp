// SPDX-License-Identifier: Apache-2.0
// A model for checks of the scaler's decisions: its weights are the sum of the gradients that were applied.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"

namespace syclamp::verify {

inline constexpr float init_scale = 1024.0f;

/// Gradients of one tensor: multiples of 1/16 up to 1, so that unscaled gradients and their sums are exact.
inline std::vector<std::uint16_t> gradients(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint16_t> data(count);
  for (auto& entry : data) {
    const double sixteenths = static_cast<double>(random() % 33) - 16;
    entry = static_cast<std::uint16_t>(reference::encode(sixteenths / 16, reference::binary16));
  }
  return data;
}

struct described_tensor {
  std::vector<std::uint16_t> gradient;
  std::uint32_t group = 0;
  bool replicated = false;
};

inline double sum_of_squares(const std::vector<described_tensor>& tensors) {
  double sum = 0;
  for (const described_tensor& tensor : tensors)
    for (const auto entry : tensor.gradient) {
      const double value = reference::decode(entry, reference::binary16).value;
      sum += value * value;
    }
  return sum;
}

/// FP16 gradients, FP32 weights that begin at 0, and SGD that adds the unscaled and clipped gradients to them.
class summing_model {
 public:
  summing_model(const engine& engine, const std::vector<described_tensor>& tensors)
      : optimizer_(engine, describe(engine, tensors), sgd{.lr = 1, .maximize = true}, {.unscaled_shadow = true}) {}

  fused_optimizer& optimizer() { return optimizer_; }
  void write(std::size_t tensor, const std::vector<std::uint16_t>& gradient) { gradients_[tensor].write(gradient); }
  std::vector<double> gradient(std::size_t tensor) const { return gradients_[tensor].values(); }
  std::vector<double> weights(std::size_t tensor) const { return weights_[tensor].values(); }

  /// Weights that should be a factor times the gradients, after one step.
  std::string difference(double factor) const {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      std::vector<bounded> expected;
      // Norm and clip coefficient err by 128 roundings each, as in compare_clip.
      for (const double value : gradient(i))
        expected.push_back({value * factor, 256 * 0x1p-24 * std::abs(value * factor)});
      std::string wrong = compare_values(weights(i), expected);
      if (wrong.empty()) wrong = weights_[i].written_outside();
      if (!wrong.empty()) return fmt::format("weights of tensor {}: {}", i, wrong);
    }
    return {};
  }

  /// Empty if all weights are still 0, as after a skipped step.
  std::string unexpected_change() const {
    for (const auto& tensor : weights_)
      for (const double weight : tensor.values())
        if (weight != 0) return "the skipped step changed weights";
    return {};
  }

 private:
  std::vector<parameter> describe(const engine& engine, const std::vector<described_tensor>& tensors) {
    std::vector<parameter> parameters;
    for (const described_tensor& tensor : tensors) {
      gradients_.emplace_back(engine, tensor.gradient, 1);
      weights_.emplace_back(engine, std::vector<std::uint32_t>(tensor.gradient.size()), 1);
      parameters.push_back({.gradient = gradients_.back().view(),
                            .model = weights_.back().view(),
                            .group = tensor.group,
                            .replicated = tensor.replicated});
    }
    return parameters;
  }

  std::vector<guarded_tensor<float16>> gradients_;
  std::vector<guarded_tensor<float32>> weights_;
  fused_optimizer optimizer_;
};

inline std::string wrong_outcome(const step_record& record, step_outcome expected) {
  if (record.outcome == expected) return {};
  return fmt::format("the step is {} instead of {}", to_string(record.outcome), to_string(expected));
}

}  // namespace syclamp::verify
