// SPDX-License-Identifier: Apache-2.0
/// \file
/// A training step that is recorded once and then submitted as a whole, which takes far less host time than submitting
/// its kernels one by one.
///
///     scaler.prepare(optimizer.gradients());
///     recorded_step step(engine, [&] {
///       scaler.begin_step();
///       scaler.step(optimizer, {.max_norm = 1.0f});
///       scaler.update();
///     });
///     for (…) {
///       …                                          // your forward and backward pass
///       step();
///     }
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Whether a `recorded_step` uses a SYCL graph.
enum class recording {
  if_possible,  ///< records a SYCL graph if the device supports graphs
  never         ///< makes the calls on every step
};

/// A sequence of calls that is recorded into a SYCL graph and replayed on every step. The results are bit-identical to
/// making the calls.
///
/// The constructor makes the calls once and records them; nothing runs then. Each step submits the recorded commands.
/// So the calls must be the same for every step. Values that change (gradients, learning rates, limits) must change in
/// device memory. The calls must not change settings, wait or allocate. Call `loss_scaler::prepare` before the
/// recording, which allocates. After `tensor_list::set_address`, call it again: it sends the new addresses to the
/// device, which a replay does not. Handlers of `loss_scaler::on_step` are called by `report`. Pass dependencies to the
/// step, not to the calls.
///
/// If the device or the compiler has no graphs, or with `recording::never`, each step makes the calls.
///
/// Use it from one thread at a time. Everything that the calls use must outlive this object.
class SYCLAMP_API recorded_step {
 public:
  /// Records the calls.
  /// \param engine  the engine of the queue that is recorded
  /// \param calls   a function that submits one step
  /// \param mode    whether to use a graph
  /// \throws misuse_error if a call waits or changes settings while it is recorded, or the queue is already being
  ///         recorded. Exceptions of the calls pass through. Scalers and optimizers are then unchanged.
  recorded_step(const engine& engine, std::function<void()> calls, recording mode = recording::if_possible);
  ~recorded_step();
  /// Moves a step. A moved-from step can only be destroyed or assigned to.
  recorded_step(recorded_step&&) noexcept;
  recorded_step& operator=(recorded_step&&) noexcept;

  /// Submits the step. Does not wait.
  /// \param dependencies  events that must be complete before the step begins, for all calls in it
  /// \return an event that is complete when the step is
  /// \throws misuse_error if this was moved from, or the engine was made with an out-of-order queue and there are no
  ///         dependencies
  sycl::event operator()(const std::vector<sycl::event>& dependencies = {});

  /// True if there is a graph; false if each step makes the calls.
  bool is_recorded() const;

 private:
  void need_state() const;

  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace SYCLAMP_NAMESPACE
