// SPDX-License-Identifier: Apache-2.0
/// \file
/// The loss scaler: the interface of PyTorch's GradScaler, with all state on the device and without a host wait.
///
///     loss_scaler scaler(engine);                    // or loss_scaler(engine, scaling_preset("megatron"))
///     while (training) {
///       const float* scale = scaler.begin_step();    // in device memory; your backward pass multiplies by it
///       backward(queue, scale);                      // leaves scaled gradients
///       scaler.step(optimizer, {.max_norm = 1.0f});  // inspects them; unscales, clips and applies, or skips
///       scaler.update();                             // moves the scale
///     }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <syclamp/engine.hpp>
#include <syclamp/export.hpp>
#include <syclamp/inspector.hpp>
#include <syclamp/ledger.hpp>
#include <syclamp/optimizer.hpp>
#include <syclamp/scaler_snapshot.hpp>
#include <syclamp/scaling_policy.hpp>
#include <syclamp/step_decision.hpp>
#include <syclamp/step_options.hpp>
#include <syclamp/step_record.hpp>
#include <syclamp/unscaled_gradients.hpp>

namespace SYCLAMP_NAMESPACE {

/// Combines the flags and the norms of several ranks before a step is decided, so that all ranks apply a step or none
/// does.
///
/// The norm covers the gradients of all ranks. Each rank adds the tensors that only it holds, such as its part of a
/// model that is divided among ranks. Rank 0 alone adds the tensors that all ranks hold alike (`tensor::replicated`).
/// If all tensors are replicated, the norm is the local one. Mark the same tensors as replicated on every rank.
struct consensus {
  /// A function that replaces `count` numbers in device memory by their sums over all ranks. The numbers are 0 or more.
  /// The scaler calls it for every list of gradients that it decides on, with the same `count` on every rank, also on
  /// ranks without gradients. All ranks must make the same calls in the same order.
  std::function<void(sycl::queue& queue, float* numbers, std::size_t count)> sum = {};

  std::uint32_t rank = 0;  ///< number of this rank, from 0 to `size` - 1
  std::uint32_t size = 1;  ///< number of ranks

  /// True if `sum` is set.
  explicit operator bool() const { return static_cast<bool>(sum); }
};

/// Options of a `loss_scaler`.
struct scaler_options {
  std::uint32_t scales = 1;           ///< 1: one scale for all tensors; more: one per group (`tensor::group`)
  bool skip_together = true;          ///< with several scales: an overflow in one group skips all groups
  std::uint32_t ledger = 1024;        ///< number of steps that the ledger keeps
  syclamp::consensus consensus = {};  ///< how ranks agree; default: this rank decides alone
};

/// Scales losses, decides whether gradients are applied, and moves the scale.
///
/// A training step is: `begin_step` or `scale`, your backward pass, optionally `unscale`, then `step` and `update`.
/// None of these calls waits, allocates or reads results back, so a SYCL graph can record the whole sequence. (The
/// first use of a list of gradients allocates once; `prepare` does this in advance.) A call in the wrong order throws
/// misuse_error, which says what to call. For one optimizer, `step` and `update` submit three kernels for any number of
/// tensors: one inspects and decides, one applies, one moves the scale.
///
/// A scaler is a handle: copies share everything, and a move is a copy. Use it from one thread at a time; only `ledger`
/// may be called from any thread. The scaler keeps memory per list. When it gets a new list, it frees the memory of
/// lists whose other handles are gone, unless a recorded graph uses them. Making lists takes time, so make them once
/// and change their addresses.
///
/// Lists and optimizers may belong to other queues and devices than the scaler, as in model parallelism. Gradients are
/// inspected and applied on the queue of their list. The scale moves on the scaler's queue. Within one context, events
/// order the queues, and the host does not wait. Across contexts, results go through host memory: each `step`,
/// `unscale`, `inspect`, `accumulate`, `step_accumulated` or `scale` of a list there waits exactly once. A joint step
/// waits once for all contexts together. Such calls cannot be recorded, and throw if the scaler has a consensus.
class SYCLAMP_API loss_scaler {
 public:
  /// Makes a scaler with its state on the engine's device.
  /// \param engine   the device and queue of the scaler
  /// \param policy   how the scale moves; default: syclamp's own policy
  /// \param options  number of scales, length of the ledger, consensus of ranks
  /// \throws invalid_argument if the policy or an option is invalid
  explicit loss_scaler(engine engine, const scaling_policy& policy = {}, const scaler_options& options = {});

  // Moving is copying, so that a handle that was moved from stays usable.
  loss_scaler(const loss_scaler&) = default;
  loss_scaler(loss_scaler&& other) noexcept : loss_scaler(other) {}  // NOLINT(performance-move-*)
  loss_scaler& operator=(const loss_scaler&) = default;
  loss_scaler& operator=(loss_scaler&& other) noexcept { return *this = other; }

  // --- A step -------------------------------------------------------------------------------------------------------
  // Every call begins when its `dependencies` are complete, on all queues that it uses.
  //
  // If the engine was made with an out-of-order queue, `step`, `unscale`, `inspect`, `accumulate` and
  // `step_accumulated` need the events of the backward pass as dependencies. Without any they throw misuse_error.

  /// Begins a step. Your backward pass multiplies the loss, or its gradient, by the returned scale. Does not wait.
  /// \param dependencies  events that must be complete before
  /// \return the address of the scale in device memory, owned by the scaler; with several scales, the first one (see
  ///         `scale_stride`)
  const float* begin_step(const std::vector<sycl::event>& dependencies = {});

  /// An event that is complete when the scale of `begin_step` may be read: after the last `update` or replay of a
  /// recorded step. Work on the scaler's in-order queue does not need it. Call it before `queue::submit`, not inside a
  /// command group, because after a recording it submits a command.
  sycl::event scale_ready() const;

  /// Begins a step and multiplies the loss by the scale, in place. Does not wait.
  /// \param loss          one or more numbers in device memory, of any type but FP64
  /// \param dependencies  events that must be complete before
  /// \return an event that is complete when the loss is scaled
  sycl::event scale(const tensor_list& loss, const std::vector<sycl::event>& dependencies = {});

  /// Begins a step and writes the loss times the scale to `scaled`. Does not wait.
  sycl::event scale(const tensor_list& loss, const tensor_list& scaled,
                    const std::vector<sycl::event>& dependencies = {});

  /// Unscales an optimizer's gradients before `step`, so that you can read them or clip them by hand. FP32 gradients
  /// are unscaled in place; 16-bit gradients go to the optimizer's FP32 shadow. Does not wait.
  /// \param optimizer     the optimizer that will step
  /// \param options       `max_norm`: clips in the same pass as `step` applies
  /// \param dependencies  events of the backward pass
  /// \return the unscaled gradients, as clip operations take them
  /// \throws misuse_error if it is called twice, or after `step`, without an `update` in between
  unscaled_gradients unscale(optimizer& optimizer, const step_options& options = {},
                             const std::vector<sycl::event>& dependencies = {});

  /// Unscales FP32 gradients in place, without an optimizer. The next `update` takes an overflow into account. Does not
  /// wait.
  unscaled_gradients unscale(const tensor_list& gradients, const step_options& options = {},
                             const std::vector<sycl::event>& dependencies = {});

  /// Unscales gradients of any type into the FP32 tensors `unscaled`, without an optimizer. Does not wait.
  unscaled_gradients unscale(const tensor_list& gradients, const tensor_list& unscaled,
                             const step_options& options = {}, const std::vector<sycl::event>& dependencies = {});

  /// Inspects gradients and decides on the step, without writing gradients. For your own kernels, which read the
  /// decision on the device. Does not wait.
  /// \param gradients     scaled gradients of any type
  /// \param options       `max_norm`: the decision includes a clip coefficient
  /// \param dependencies  events of the backward pass
  /// \return one decision, or one per scale, in device memory owned by the scaler. Valid until `update`, and longer
  ///         while the scaler and a handle of the list exist.
  const step_decision* inspect(const tensor_list& gradients, const step_options& options = {},
                               const std::vector<sycl::event>& dependencies = {});

  /// Inspects the gradients, unless `unscale` has done so, and applies the step, or skips it as a whole. The gradients
  /// are not written: they stay scaled, unless `unscale` was called. If a learning rate in device memory is negative or
  /// NaN, the step is skipped with the status `invalid_number`. Does not wait.
  ///
  /// If the optimizer throws, the exception passes through, and the step counts as skipped by the user. Call `update`
  /// and continue.
  /// \param optimizer     the optimizer; it must outlive the submitted work
  /// \param options       `max_norm`: clips the norm of the unscaled gradients
  /// \param dependencies  events of the backward pass
  /// \return an event that is complete when the step is applied or skipped
  /// \throws misuse_error if no step was begun since the last `update`, the optimizer has already stepped, or its
  ///         gradients are the sums of an open accumulation window
  sycl::event step(optimizer& optimizer, const step_options& options = {},
                   const std::vector<sycl::event>& dependencies = {});

  /// Makes a joint step: all optimizers apply their gradients, or none does. Gradients are clipped by the norm over all
  /// optimizers, unless `step_options::clip_separately` is set. With one `step` call per optimizer instead, one
  /// optimizer may be skipped and another not. If an optimizer throws, later ones are not applied, and the step is not
  /// recorded as applied. Does not wait.
  ///
  /// Gradients that were passed to `unscale` keep the clip coefficient of that call. So `max_norm` throws misuse_error
  /// if there are such gradients, as it does for a single optimizer. To clip all gradients jointly, do not call
  /// `unscale`.
  /// \param optimizers    the optimizers, each with its own list of gradients
  /// \param options       how gradients are clipped
  /// \param dependencies  events of the backward passes
  /// \return an event that is complete when all optimizers have stepped, or the step is skipped
  /// \throws misuse_error as a step of one optimizer does
  /// \throws invalid_argument if an optimizer is null, or two have the same list of gradients
  sycl::event step(std::span<optimizer* const> optimizers, const step_options& options = {},
                   const std::vector<sycl::event>& dependencies = {});

  /// Ends the step: moves the scale according to the gradients since the last `update`, writes the ledger, and calls
  /// the handler of `on_step`. Does not wait.
  /// \param dependencies  events that must be complete before
  /// \return an event that is complete when the new scale is in device memory
  /// \throws misuse_error if no gradients were inspected since the last `update`
  sycl::event update(const std::vector<sycl::event>& dependencies = {});

  /// Ends the step and sets the scale to `new_scale`. The counters of the policy do not change. Does not wait.
  /// \throws invalid_argument if the policy does not allow the scale
  /// \throws misuse_error if scaling is disabled, or no gradients were inspected since the last `update`
  sycl::event update(float new_scale, const std::vector<sycl::event>& dependencies = {});

  // --- Accumulation over several backward passes --------------------------------------------------------------------

  /// Adds unscaled gradients to a sum: sum += gradients / scale. A micro-batch that overflowed is dropped as a whole.
  /// The scale may change between micro-batches (call `update` after each), because sums are unscaled. Does not wait.
  ///
  /// The first call opens an accumulation window, and `step_accumulated` closes it. While the window is open, `step`,
  /// `unscale`, `inspect` and `accumulate` do not accept `sum` as gradients. Keep a handle of the list `sum` while the
  /// window is open; without one this check does not work.
  /// \param gradients     scaled gradients of a micro-batch, of any type
  /// \param sum           FP32 tensors of the same sizes, zero at the beginning of a window
  /// \param dependencies  events of the backward pass
  /// \return an event that is complete when the gradients are added
  sycl::event accumulate(const tensor_list& gradients, const tensor_list& sum,
                         const std::vector<sycl::event>& dependencies = {});

  /// Applies the mean of the micro-batches that were not dropped, and closes the window. If all were dropped, nothing
  /// is applied. The optimizer's gradients must be the sums. Clear them afterwards (`clear_gradients`). Does not wait.
  sycl::event step_accumulated(optimizer& optimizer, const step_options& options = {},
                               const std::vector<sycl::event>& dependencies = {});

  // --- Flags --------------------------------------------------------------------------------------------------------

  /// A word in device memory, owned by the scaler, by which your kernels can skip a step. If a kernel ORs
  /// `found_by_user` into it, the next `step`, `unscale` or `inspect` skips the step, and the scale does not move.
  std::uint32_t* device_user_flags() const;

  /// Resumes after the policy has stopped (`give_up_action::stop`), with the present scale. Does not wait.
  sycl::event resume(const std::vector<sycl::event>& dependencies = {});

  // --- Readings -----------------------------------------------------------------------------------------------------

  const float* device_scale() const;        ///< the scale in device memory; several scales are `scale_stride()` apart
  static std::uint32_t scale_stride();      ///< distance between two scales, in floats
  const scale_state* device_state() const;  ///< the state in device memory, one per scale
  float get_scale(std::uint32_t index = 0) const;      ///< the present scale; waits
  step_record outcome(std::uint32_t index = 0) const;  ///< the record of the last `update`; waits

  /// The latest records, oldest first. Does not wait, and may be called from any thread. Steps are complete and without
  /// gaps. At most the newest finished step is missing, while its record is being written.
  std::vector<ledger_entry> ledger() const;

  /// Sets a handler that `update` and `report` call for each new record, on the caller's thread. An empty handler
  /// removes it.
  void on_step(std::function<void(const ledger_entry&)> handler);

  /// Calls the handler of `on_step` for records that are visible on the host by now. After a wait, these are all
  /// records. Does not wait.
  void report();

  // --- Settings and state -------------------------------------------------------------------------------------------

  const scaling_policy& policy() const;  ///< the present policy

  /// Changes the policy from the next `update` on. The scale and the counters do not change. Does not wait, unless the
  /// host is two such changes ahead of the device.
  /// \throws invalid_argument if the policy is invalid, or would enable or disable scaling (`scaling_mode::disabled`)
  /// \throws misuse_error while the queue is recorded into a graph: every replay would change it again
  void set_policy(const scaling_policy& policy);

  /// The complete state of the scaler. Waits.
  /// \throws misuse_error between `begin_step` and `update`, or in an accumulation window
  scaler_snapshot state() const;

  /// Loads a snapshot, so that the scaler continues where the snapshot was taken, on any device. Waits.
  /// \throws invalid_argument if the snapshot has another number of scales or is invalid; the scaler is then unchanged
  /// \throws misuse_error while the queue is recorded into a graph
  void load(const scaler_snapshot& snapshot);

  /// Allocates the memory for a list of gradients, so that no later call allocates. Also sends changed addresses of the
  /// list to the device. (`scale`, `unscale`, joint steps and `step_accumulated` compile their kernels at the first
  /// call, unless `engine::compile_all` has.)
  void prepare(const tensor_list& gradients);

  const engine& get_engine() const;  ///< the engine from the constructor

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

}  // namespace SYCLAMP_NAMESPACE
