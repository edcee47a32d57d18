// SPDX-License-Identifier: Apache-2.0
// Trains a model in one precision, with one way of loss scaling.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "apps/training/batches.hpp"
#include "apps/training/gradient_watch.hpp"
#include "apps/training/model.hpp"
#include "apps/training/result.hpp"
#include "apps/training/run_notes.hpp"
#include "apps/training/step_clock.hpp"
#include "syclamp/nn/nn.hpp"

namespace syclamp::training {

struct run_settings {
  std::string name, precision, scaling;  ///< as people call them
  nn::precision_policy formats = {};
  scaling_policy policy = {};
  std::uint64_t seed = 1;
};

/// Callbacks of a run, called after each epoch and before each step.
struct run_observer {
  std::function<void(std::uint64_t done, std::uint64_t all)> progress = [](auto, auto) {};
  std::function<bool()> shall_stop = [] { return false; };
};

/// One run. A step neither waits nor reads results back. Losses, ledger and times are read once per epoch.
class trainer {
 public:
  /// Waits, and compiles what the optimizer and the scaler need.
  /// \param of  must outlive this
  trainer(const engine& engine, const task& task, run_settings settings);
  trainer(const trainer&) = delete;  // the scaler reports to this one
  trainer& operator=(const trainer&) = delete;

  /// Trains until the given number of epochs, or until the observer stops it. A later call resumes where training
  /// stopped.
  void train(std::uint64_t epochs, const run_observer& observer);

  /// Between two calls of `train`, or from within `run_observer::progress`: writes a file from which the run resumes
  /// bit-identically. Waits.
  /// \throws error that names the file
  void save(const std::filesystem::path& file);

  /// Resumes a saved run. Waits.
  /// \throws error that names the file and the difference between the runs; do not use this object any more then
  void load(const std::filesystem::path& file);

  const run_result& result() const { return result_; }
  std::uint64_t weights() const { return model_.weights(); }
  std::string gemm_path() const { return model_.gemm_path(); }

 private:
  sycl::event compute_loss(const batch& batch, const matrix::const_matrix_view& y, float* mean,
                           const std::optional<matrix::matrix_view>& dy);
  matrix::matrix_view gradient_of(const matrix::matrix_view& y) const;
  const_array_view whole_output_gradient();
  sycl::event forward_and_backward(const batch& batch, std::uint64_t slot, sycl::event& loss);
  run_identity identity() const;
  void warm_up();
  void step(std::uint64_t step_of_epoch, bool is_timed);
  void read_back(std::uint64_t first, std::uint64_t made);
  held_out_point evaluate();
  step_times times() const;

  engine engine_;
  const task& task_;
  run_settings settings_;
  model model_;
  batches batches_;
  fused_optimizer optimizer_;
  loss_scaler scaler_;
  typed_array output_gradient_;  ///< of FP32 it takes the place of the output itself
  typed_array row_losses_;
  typed_array losses_;  ///< of the steps of an epoch, and of the held-out samples
  gradient_watch watch_;
  step_clock clock_;
  sycl::event last_update_;
  run_result result_;
  std::optional<run_result> resumable_;  ///< if it stopped within an epoch: without what was looked at there
};

}  // namespace syclamp::training
