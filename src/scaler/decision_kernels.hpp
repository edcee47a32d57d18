// SPDX-License-Identifier: Apache-2.0
// The device side of a loss scaler: its memory, and the kernels that inspect gradients, decide on a step and move the
// scale. Whether a call is allowed at all has been checked before (step_protocol.hpp).
#pragma once

#include <cstdint>
#include <memory>

#include "engine/device_memory.hpp"
#include "scaler/ledger_ring.hpp"
#include "sycl_kernels/shared/scaler_layout.hpp"
#include "syclamp/export.hpp"
#include "syclamp/loss_scaler.hpp"
#include "tensors/convert.hpp"
#include "tensors/inspection_workspace.hpp"
#include "tensors/unscaling.hpp"

namespace SYCLAMP_NAMESPACE {

/// Device memory for one list of gradients.
struct gradient_workspace {
  inspection_workspace inspection;
  std::shared_ptr<const usm_array<step_decision>> decision_memory;  ///< shared with gradients to be clipped by hand
  bool leaves_out_replicated = false;  ///< on ranks other than 0: only some of the tensors count in the norm
  bool has_no_squares = false;         ///< on ranks other than 0: all tensors are replicated, none counts in the norm
  std::uint32_t index = 0;             ///< number of the list in records, in order of first use
  /// Results of a list on another queue, copied here.
  std::shared_ptr<const usm_array<syclamp::inspection>> imported = {};

  step_decision* decisions() const { return decision_memory->get(); }
};

/// Every call submits kernels and returns at once, unless it says that it waits.
class decision_kernels {
 public:
  decision_kernels(engine owner, const scaler_options& options);

  const engine& get_engine() const { return engine_; }
  const scaler_options& options() const { return options_; }
  bool has_one_scale() const { return options_.scales == 1; }

  // In device memory, one per scale (`memory`: one for all).
  kernels::scaler_memory* memory() const { return memory_.get(); }
  kernels::open_step* open_steps() const { return open_steps_.get(); }
  scale_state* states() const { return states_.get(); }
  const float* scale() const { return &states_.get()->scale; }
  const step_decision* always_apply() const { return always_apply_.get(); }

  /// What a list is multiplied or divided by: the scale, or that of each tensor's group.
  factor scale_factor(kernels::factor_kind kind) const;

  /// Compiles the first kernels of every step. Other kernels are compiled by the first call that needs them.
  void prepare() const;

  /// Restores the device state from a snapshot. Waits.
  void restart(const scaler_snapshot& snapshot);

  gradient_workspace make_workspace(const tensor_list& gradients) const;

  /// For a list that belongs to another queue, and is inspected there: results are imported.
  gradient_workspace make_guest(const tensor_list& gradients) const;

  /// The results of an inspection, in device memory; one per scale.
  inspection* results(const gradient_workspace& list) const;

  /// Completes results that were copied from another queue.
  /// \param is_scaled  the gradients are scaled, but the other queue may not have known by what
  /// \param invalid    in device memory: not 0 if the other queue has found an invalid number
  void import_results(const gradient_workspace& list, bool is_scaled, const std::uint32_t* invalid) const;

  // --- Inspection and decision. `mode`: bits `kernels::decide_…`; `max_norm` may be absent: no clipping ---

  void inspect(const gradient_workspace& list) const;
  void inspect_unscaled(const gradient_workspace& list) const;  ///< of sums
  sycl::event decide(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                     std::uint32_t mode) const;
  void inspect_and_decide(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                          std::uint32_t mode) const;

  /// Inspects, decides and unscales.
  sycl::event unscale(const gradient_workspace& list, const tensor_list& unscaled,
                      const kernels::scalar_argument& max_norm) const;

  /// Lets the optimizer check its own numbers on the device, before any decision that depends on them.
  bool check_numbers(optimizer& checked) const { return checked.check_numbers(&memory_.get()->invalid_numbers); }

  /// Adds the result of `check_numbers` to a decision that was made before.
  void skip_if_invalid(const gradient_workspace& list) const;

  /// For gradients that are clipped by hand. The pointers are valid as long as the scaler and the decisions.
  step_gate make_gate(const gradient_workspace& list) const;

  // --- Several optimizers, all of which step or none --------------------------------------------------------------

  void clear_joint_flags() const;
  /// \param report  bits `kernels::report_…`
  void report_jointly(const gradient_workspace& list, const kernels::scalar_argument& max_norm, bool is_decided,
                      std::uint32_t report) const;
  void skip_jointly(const gradient_workspace& list) const;

  /// Notes in the step's record that an optimizer was not applied, because it or an earlier one has thrown. Its
  /// gradients are not cleared, whatever the policy: their addresses may be the reason for the exception.
  void withdraw(const gradient_workspace& list, const step_decision* decisions) const;

  // --- The end of a step ------------------------------------------------------------------------------------------

  /// \param uninspected  steps of a disabled scaler since the last update, which inspect nothing
  /// \param new_scale    0: the policy moves the scale
  sycl::event update(std::uint32_t uninspected, float new_scale, const ledger_ring& ring) const;
  sycl::event resume() const;

 private:
  bool has_one_kernel() const { return has_one_scale() && !options_.consensus; }
  std::uint32_t together() const { return options_.skip_together ? kernels::decide_together : 0u; }
  usm_array<step_decision> initial_decisions() const;
  sycl::event add_up_and_decide(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                                std::uint32_t mode) const;
  sycl::event inspect_step(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                           std::uint32_t mode) const;
  const kernels::rank_flags* gather_ranks(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                                          std::uint32_t mode) const;

  engine engine_;
  scaler_options options_;
  usm_array<kernels::scaler_memory> memory_;
  usm_array<scale_state> states_;
  usm_array<kernels::open_step> open_steps_;
  usm_array<kernels::rank_flags> rank_flags_;
  usm_array<step_decision> always_apply_;
};

}  // namespace SYCLAMP_NAMESPACE
