// SPDX-License-Identifier: Apache-2.0
/// \file
/// A training step that is recorded once and then submitted as a whole, which costs the host far less than its kernels
/// one by one.
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

enum class recording {
  if_possible,  ///< into a SYCL graph where the device has them
  never         ///< submits the calls each time, as if the device had no graphs
};

/// Calls that submit work to an engine's queue, to be submitted many times: the same bits either way.
///
/// Recorded, the calls are made once, when this is made, and nothing runs; each step then submits what they would have
/// submitted. So they must be the same for every step: what changes (gradients, learning rates, limits) changes in
/// device memory. (After `tensor_list::set_address` call `loss_scaler::prepare`, which sends the new addresses to the
/// device: a replay does not.) They must not change settings, and neither wait nor allocate: `loss_scaler::prepare`
/// does that before. Callbacks of `loss_scaler::on_step` come from `report`. Give dependencies to the step, not to the
/// calls.
///
/// Where the device or the compiler has no graphs, or `recording::never` is given, each step makes the calls.
///
/// For one thread at a time; everything that the calls use has to live as long as this.
class SYCLAMP_API recorded_step {
 public:
  /// \throws misuse_error if a call waits or changes settings while it is recorded, or the queue is being recorded
  ///         already, and says what to do; and what the calls throw. Then scalers and optimizers are as they were
  ///         before
  recorded_step(const engine& engine, std::function<void()> calls, recording mode = recording::if_possible);
  ~recorded_step();
  recorded_step(recorded_step&&) noexcept;
  recorded_step& operator=(recorded_step&&) noexcept;

  /// Submits the step; does not wait.
  /// \param dependencies  the step begins when they are complete. They stand for those of all calls in it.
  /// \return complete when the step is
  /// \throws misuse_error if this was moved from, or the engine was made with an out-of-order queue and there are no
  ///         dependencies
  sycl::event operator()(const std::vector<sycl::event>& dependencies = {});

  /// Whether there is a graph; else the calls are made each time.
  bool is_recorded() const;

 private:
  void need_state() const;

  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace SYCLAMP_NAMESPACE
