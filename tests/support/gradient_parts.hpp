// SPDX-License-Identifier: Apache-2.0
// Gradients of several optimizers, each with several FP32 tensors, and the expected result of a joint step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"

/// Numbers near 2^exponent, of both signs.
inline std::vector<float> values_near(int exponent, std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& x : values) {
    const double fraction = 1.0 + static_cast<double>(random() % 1024) / 1024.0;
    x = static_cast<float>(std::ldexp(random() % 2 == 0 ? fraction : -fraction, exponent));
  }
  return values;
}

/// A sum enters at most 64 + 64 + 31 + 10 + 6 roundings (inspect_tests.cpp), and 4 more for each of: a change of units,
/// other lists, other ranks. A root halves them. A root, a quotient and two factors follow, and 3 roundings for each of
/// up to 4 scales.
inline constexpr double joint_norm_tolerance = ((64 + 64 + 31 + 10 + 6 + 3 * 4) / 2.0 + 4 + 3 * 4) * 0x1p-24;

/// A tensor of gradients as a test describes it. The values are scaled.
struct gradient_part {
  std::vector<float> values;
  std::uint32_t group = 0;
  bool replicated = false;
};

using gradient_parts = std::vector<gradient_part>;

/// The scale of a group: every group has its own.
inline double scale_of(std::uint32_t group, int exponent) {
  return std::ldexp(1.0, exponent + 2 * static_cast<int>(group));
}

/// Of the unscaled gradients, in double.
inline double sum_of_squares(const gradient_parts& parts, int exponent) {
  double sum = 0;
  for (const gradient_part& part : parts)
    for (const float x : part.values) {
      const double unscaled = static_cast<double>(x) / scale_of(part.group, exponent);
      sum += unscaled * unscaled;
    }
  return sum;
}

/// The factor of clip_grad_norm_.
inline double exact_clip(double norm, double max_norm) { return std::min(1.0, max_norm / (norm + 1e-6)); }

inline void check_norm(double got, double truth, double tolerance = joint_norm_tolerance) {
  CAPTURE(got, truth);
  CHECK(std::abs(got - truth) <= tolerance * truth);
}

/// weights += unscaled, clipped gradients; the weights begin at 0.
class adding_parts {
 public:
  adding_parts(const syclamp::engine& engine, const gradient_parts& parts)
      : optimizer_(engine, parameters(engine, parts), syclamp::sgd{.lr = 1, .maximize = true}) {}

  syclamp::fused_optimizer& get_optimizer() { return optimizer_; }
  std::vector<float> weights(std::size_t part) const { return memory_[part].weights->read(); }
  bool is_untouched() const {
    for (const part_memory& part : memory_)
      for (const float weight : part.weights->read())
        if (weight != 0.0f) return false;
    return true;
  }

 private:
  struct part_memory {
    std::unique_ptr<device_buffer<float>> gradients, weights;
  };

  std::vector<syclamp::parameter> parameters(const syclamp::engine& engine, const gradient_parts& parts) {
    std::vector<syclamp::parameter> all;
    for (const gradient_part& part : parts) {
      const std::size_t count = part.values.size();
      memory_.push_back({std::make_unique<device_buffer<float>>(engine.queue(), part.values),
                         std::make_unique<device_buffer<float>>(engine.queue(), std::vector<float>(count, 0.0f))});
      all.push_back({.gradient = {memory_.back().gradients->data(), count},
                     .model = {memory_.back().weights->data(), count},
                     .group = part.group,
                     .replicated = part.replicated});
    }
    return all;
  }

  std::vector<part_memory> memory_;
  syclamp::fused_optimizer optimizer_;
};

/// Optimizers that step together. The scale of each group is constant.
struct joint_training {
  joint_training(const syclamp::engine& engine, const std::vector<gradient_parts>& lists, int exponent,
                 const syclamp::scaler_options& options = {})
      : scaler(engine, fixed_at(exponent, 0), options) {
    syclamp::scaler_snapshot snapshot = scaler.state();
    for (std::uint32_t group = 0; group < options.scales; ++group)
      snapshot.scales[group] = syclamp::scaler_snapshot::fresh(fixed_at(exponent, group), 1).scales[0];
    scaler.load(snapshot);
    for (const gradient_parts& list : lists) {
      members.push_back(std::make_unique<adding_parts>(engine, list));
      optimizers.push_back(&members.back()->get_optimizer());
    }
  }

  static syclamp::scaling_policy fixed_at(int exponent, std::uint32_t group) {
    return {.mode = syclamp::scaling_mode::fixed,
            .init_scale = static_cast<float>(scale_of(group, exponent)),
            .min = 0x1p-126f,
            .max = 0x1p127f};
  }

  syclamp::step_record step(const syclamp::step_options& options) {
    scaler.begin_step();
    scaler.step(optimizers, options);
    scaler.update();
    return scaler.outcome();
  }

  bool is_untouched() const {
    return std::all_of(members.begin(), members.end(), [](const auto& member) { return member->is_untouched(); });
  }

  syclamp::loss_scaler scaler;
  std::vector<std::unique_ptr<adding_parts>> members;
  std::vector<syclamp::optimizer*> optimizers;
};

/// Checks all weights of an optimizer: gradient / scale · clip.
inline void check_weights(const adding_parts& member, const gradient_parts& list, int exponent, double clip) {
  bool all_close = true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::vector<float> weights = member.weights(i);
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double truth = static_cast<double>(list[i].values[j]) / scale_of(list[i].group, exponent) * clip;
      const double error = std::abs(static_cast<double>(weights[j]) - truth);
      // Weights below the smallest normal number are multiples of 2^-149, and rounded up to three times.
      all_close = all_close && error <= 2 * joint_norm_tolerance * std::abs(truth) + 3 * 0x1p-149;
    }
  }
  CHECK(all_close);
}
