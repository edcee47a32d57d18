// SPDX-License-Identifier: Apache-2.0
// A task to learn: samples, the shape of the model, and how it is trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"

namespace syclamp::training {

/// Inputs with the expected outputs: numbers, or the label of a class.
struct samples {
  std::uint64_t count = 0;
  std::vector<float> inputs = {};          ///< one row per sample
  std::vector<float> targets = {};         ///< one row per sample; empty for a classifier
  std::vector<std::uint32_t> labels = {};  ///< one per sample; only for a classifier
};

/// A multi-layer perceptron: widths[0] inputs, then layers of the other widths.
struct mlp_shape {
  std::vector<std::uint64_t> widths;
  matrix::activation between = matrix::activation::gelu;
  bool output_has_bias = true;
};

/// A task and its training settings. They are the same in every precision.
struct task {
  std::string name;
  samples training = {}, held_out = {};
  mlp_shape model;
  std::uint64_t batch = 0;
  std::uint64_t epochs = 0;   ///< unless asked for otherwise
  bool shuffles_rows = true;  ///< shuffles the rows in each epoch; else only the order of batches changes
  adamw optimizer = {};
  lr_schedule schedule = {};  ///< does not depend on the number of epochs, so that a run can be continued

  std::uint64_t inputs() const { return model.widths.front(); }
  std::uint64_t outputs() const { return model.widths.back(); }
  bool is_classifier() const { return !training.labels.empty(); }
  std::uint64_t steps_per_epoch() const { return training.count / batch; }
};

/// Names of all tasks.
inline constexpr const char* task_names[] = {"field", "digits"};

/// Handwritten digits, 8 x 8 pixels: 1440 to learn from and 357 held out, split at random but always in the same way.
/// Gradients of this task stay far above the smallest number of FP16, so it needs no loss scaling.
/// \param file   lines of 64 pixels (0 to 16) and a label (0 to 9), as scikit-learn has them
/// \param batch  0: that of the task
/// \throws error that names the file and what is wrong with it, and says how to get it
task digits_task(const std::filesystem::path& file, std::uint64_t batch = 0);

/// A surrogate for a simulation: eight numbers in, a damped spherical wave at 16 x 16 x 16 points out.
/// \param batch  0: that of the task; there are four batches, and a quarter of one is held out
task field_task(std::uint64_t batch = 0);

}  // namespace syclamp::training
