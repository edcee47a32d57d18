// SPDX-License-Identifier: Apache-2.0
// Decides on lists of gradients, whichever queue they belong to.
//
// Gradients are inspected on the queue of their list. The results go to the scaler's queue, which decides.
//   Same queue:      one kernel inspects and decides, two if the list has FP64 or FP8 tensors.
//   Same context:    events order the queues. The decision is copied back to the list's queue.
//   Other contexts:  the inspection and the scaler's state are copied through host memory, after one wait. Then the
//                    scaler's queue and the list's queue run the same kernels on the same numbers, so they take the
//                    same decision.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scaler/remote_queue.hpp"
#include "scaler/step_protocol.hpp"

namespace SYCLAMP_NAMESPACE {

class list_decisions {
 public:
  explicit list_decisions(const decision_kernels& home) : home_(home) {}

  /// Orders the scaler's queue and the lists' queues after the dependencies. Queues of the scaler's context are also
  /// ordered after the scaler's, and get the scales.
  /// \return complete when the dependencies are
  /// \throws misuse_error if the engine of a list needs dependencies and there are none, or while several queues, or
  ///         one of them, would be recorded into a graph
  sycl::event begin(const char* call, std::span<known_list* const> lists,
                    const std::vector<sycl::event>& dependencies) const;

  /// Tells another queue the scales, without any list. Waits if the queue is of another context.
  sycl::event send_scales(remote_queue& queue, const std::vector<sycl::event>& dependencies) const;

  /// Lets the optimizer check its own numbers on the device, before any decision that depends on them.
  bool check_numbers(const known_list& list, optimizer& checked) const;

  /// Inspects a list and decides. `mode`: bits `kernels::decide_…`; `max_norm` may be absent: no clipping.
  void decide(known_list& list, const kernels::scalar_argument& max_norm, std::uint32_t mode) const;

  /// The same for sums, which are not scaled.
  void decide_on_sums(known_list& list, const kernels::scalar_argument& max_norm, std::uint32_t mode) const;

  /// Decides on several lists: all of them are applied, or none. Those that were unscaled are not inspected again.
  /// They are clipped by the norm over all of them, or each by its own.
  void decide_jointly(std::span<known_list* const> lists, const kernels::scalar_argument& max_norm,
                      bool clip_separately) const;

  /// For gradients that were decided on before: enters numbers that were found invalid since.
  void skip_if_invalid(known_list& list) const;

  /// The scaler's queue continues when the list's queue has applied the step.
  void end(const known_list& list, const sycl::event& applied) const;

  /// After `update`.
  void end_step(const remote_queues& queues) const;

 private:
  sycl::event begin(remote_queue& queue, const std::vector<sycl::event>& dependencies) const;
  void wait_across_contexts(const std::vector<sycl::event>& dependencies) const;
  void inspect(const known_list& list, bool is_scaled) const;
  void decide_inspected(known_list& list, const kernels::scalar_argument& max_norm, std::uint32_t mode,
                        bool is_scaled) const;
  void gather_at_home(std::span<known_list* const> lists, bool is_scaled) const;
  void receive(std::span<known_list* const> lists, std::span<remote_queue* const> queues,
               const kernels::scalar_argument& max_norm) const;
  kernels::scalar_argument exchange(std::span<known_list* const> lists, const kernels::scalar_argument& max_norm,
                                    bool is_scaled, remote_queue* unlisted = nullptr) const;
  void send_state(std::span<known_list* const> lists, remote_queue& queue, bool is_scaled) const;
  void report_jointly(std::span<known_list* const> lists, known_list& reported,
                      const kernels::scalar_argument& max_norm, const kernels::scalar_argument& limit,
                      std::uint32_t report) const;
  void send_decisions(std::span<known_list* const> lists) const;

  /// What the scaler's queue needs for lists of other contexts.
  struct home_memory {
    explicit home_memory(const decision_kernels& home);
    state_in_transit state;
    usm_array<float> max_norm;                   ///< in host memory, like the state
    usm_array<std::uint32_t> no_invalid_number;  ///< 0 in device memory
  };

  const decision_kernels& home_;
  mutable std::unique_ptr<home_memory> transit_;  ///< made when it is first needed
};

}  // namespace SYCLAMP_NAMESPACE
