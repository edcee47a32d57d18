// SPDX-License-Identifier: Apache-2.0
// The results of a training run. JSON has null for numbers that are not finite.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "apps/training/curve.hpp"
#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"

namespace syclamp::training {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Statistics of a gradient tensor over all inspections.
struct tensor_result {
  std::string name;
  std::uint64_t elements = 0;
  double zeros = 0.0, subnormals = 0.0;  ///< summed over all inspections
  double amax = 0.0;                     ///< largest finite one, as it was stored: scaled
};

/// How gradients were stored at one step: of the weights, and of the output.
struct exponent_result {
  std::uint64_t step = 0;
  int lowest = 0;
  std::vector<std::uint64_t> counts = {};  ///< counts[i] have the binary exponent lowest + i
  std::uint64_t zeros = 0, infs = 0, nans = 0;
};

struct loss_point {
  std::uint64_t step;
  double loss;
};

struct held_out_point {
  std::uint64_t step;
  double loss, accuracy;
};

struct scale_point {
  std::uint64_t step;
  double scale;
};

/// Medians over the steps that were timed.
struct step_times {
  double forward = unknown, backward = unknown, inspect = unknown, apply = unknown, update = unknown, other = unknown;

  double scaling_share() const { return (inspect + update) / (forward + backward + inspect + apply + update); }
};

/// One run.
struct run_result {
  std::string name = {}, precision = {}, scaling = {};
  std::uint64_t steps = 0;
  double seconds = 0.0;
  curve<loss_point> losses = {};  ///< of the steps that a curve keeps
  curve<held_out_point> held_out = {};
  curve<scale_point> scales = {};  ///< by which the loss of each step was multiplied
  curve<std::uint64_t> skipped = {};
  double final_scale = 1.0;
  std::uint64_t looks = 0;
  std::vector<tensor_result> tensors = {};  ///< of all weights, then of the output
  exponent_result exponents = {};           ///< of the last look
  step_times times = {};

  std::uint64_t skips() const { return skipped.added(); }
  double loss() const { return held_out.empty() ? unknown : held_out.back().loss; }
  double accuracy() const { return held_out.empty() ? unknown : held_out.back().accuracy; }

  /// Of all gradients that were looked at, those that were exactly zero.
  double zero_share() const { return zero_share_of(tensors); }

  /// The same of those that the optimizer gets; the last tensor is the output.
  double zero_share_weights() const {
    return zero_share_of(std::span(tensors).first(tensors.empty() ? 0 : tensors.size() - 1));
  }

 private:
  double zero_share_of(std::span<const tensor_result> some) const {
    double zeros = 0.0, elements = 0.0;
    for (const tensor_result& tensor : some) {
      zeros += tensor.zeros;
      elements += static_cast<double>(tensor.elements) * static_cast<double>(looks);
    }
    return zeros / elements;
  }
};

/// All runs of a task.
struct task_result {
  std::string task;
  std::string command = {};  ///< that makes the same runs again
  std::uint64_t seed = 0, epochs = 0, steps = 0, batch = 0, parameters = 0;
  std::string device = {}, profile = {}, gemm = {};
  bool interrupted = false;  ///< runs are missing, or were not trained to their end
  std::vector<run_result> runs = {};
};

}  // namespace syclamp::training
