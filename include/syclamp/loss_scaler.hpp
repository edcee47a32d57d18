// SPDX-License-Identifier: Apache-2.0
/// \file
/// The loss scaler: the calls of PyTorch's GradScaler, with all state on the device and no host wait.
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

/// Brings the flags and the norms of several devices or ranks together before a step is decided, so that all ranks
/// apply a step or none does.
///
/// The norm is that of the gradients of all ranks. Each rank adds the tensors that it alone holds, such as its part of
/// a model that is divided among ranks. A tensor that all ranks hold alike (`tensor::replicated`) is added by rank 0
/// only. If all tensors are replicated, the norm is the local one. Mark the same tensors as replicated on every rank.
struct consensus {
  /// Replaces `count` numbers in device memory by their sums over all ranks. The numbers are 0 or more; a flag is set
  /// where its sum is not 0. Called for every list of gradients that a step decides on, on ranks without gradients as
  /// well, with the same `count` on every rank. Ranks must make the same calls in the same order.
  std::function<void(sycl::queue& queue, float* numbers, std::size_t count)> sum = {};

  std::uint32_t rank = 0;  ///< of this process or device: below `size`, another one on each
  std::uint32_t size = 1;  ///< number of ranks

  /// True if there is a `sum`.
  explicit operator bool() const { return static_cast<bool>(sum); }
};

struct scaler_options {
  std::uint32_t scales = 1;           ///< 1: one for all tensors; more: one for each group of tensors (`tensor::group`)
  bool skip_together = true;          ///< with several scales: an overflow in one group skips all of them
  std::uint32_t ledger = 1024;        ///< how many records are kept
  syclamp::consensus consensus = {};  ///< of several ranks; empty: this rank decides alone
};

/// Scales losses, decides whether gradients are applied, and moves the scale.
///
/// A step is: `begin_step` or `scale`, your backward pass, optionally `unscale`, `step`, `update`. None of them waits,
/// allocates or reads anything back (a list of gradients that is seen for the first time allocates once; `prepare` does
/// it before), so the whole sequence can be recorded into a SYCL graph. Calls in a wrong order are refused with an
/// exception that says what to call. From the first kernel of `step` to the last of `update` there are three kernels
/// for one optimizer, however many tensors it has: one that inspects and decides, the optimizer's, and one that moves
/// the scale.
///
/// A scaler is a handle: copies share everything, and moving is copying. It is for one thread at a time, except for the
/// ledger. The scaler keeps scratch memory per list. When it sees a new list, it frees the memory of lists that nobody
/// else holds, unless they were used while a graph was recorded. Making lists takes time: make them once, and change
/// their addresses.
///
/// Lists and optimizers may belong to other queues and devices than the scaler's, as in model parallelism. Gradients
/// are inspected and applied on the queue of their list; the scale moves on the scaler's own. Within one context,
/// events order the queues, and the host does not wait. Across contexts, results travel through host memory: each
/// `step`, `unscale`, `inspect`, `accumulate`, `step_accumulated`, or `scale` of a loss there, waits exactly once, and
/// a joint step waits once for all contexts together. Such calls cannot be recorded, and a scaler with a consensus
/// refuses them.
class SYCLAMP_API loss_scaler {
 public:
  /// \throws invalid_argument if the policy or an option is not valid
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

  /// Begins a step. Your backward pass multiplies the loss, or its gradient, by the scale.
  /// \return the scale in device memory; with several scales, the first of them (`scale_stride`)
  const float* begin_step(const std::vector<sycl::event>& dependencies = {});

  /// Complete when the scale that `begin_step` returned may be read: after the last `update` or replay of a recorded
  /// step. Work on the scaler's own in-order queue is ordered without it. Call this before `queue::submit`, not in a
  /// command group: after a recording it submits a command.
  sycl::event scale_ready() const;

  /// Begins a step and multiplies the loss by the scale, in place or to another list.
  sycl::event scale(const tensor_list& loss, const std::vector<sycl::event>& dependencies = {});
  sycl::event scale(const tensor_list& loss, const tensor_list& scaled,
                    const std::vector<sycl::event>& dependencies = {});

  /// Unscales gradients before `step`, so that you can read them or clip them by hand. FP32 gradients are unscaled in
  /// place; 16-bit gradients go to the optimizer's FP32 shadow.
  /// \throws misuse_error if it is called twice, or after `step`, without an `update` in between
  unscaled_gradients unscale(optimizer& optimizer, const step_options& options = {},
                             const std::vector<sycl::event>& dependencies = {});

  /// The same without an optimizer: FP32 gradients in place, or gradients of any type to an FP32 shadow. An overflow
  /// counts for the next `update`.
  unscaled_gradients unscale(const tensor_list& gradients, const step_options& options = {},
                             const std::vector<sycl::event>& dependencies = {});
  unscaled_gradients unscale(const tensor_list& gradients, const tensor_list& unscaled,
                             const step_options& options = {}, const std::vector<sycl::event>& dependencies = {});

  /// Decides on gradients without writing any, for your own kernels, which read the decision on the device.
  /// \return in device memory: one decision, or one per scale. Valid as long as the scaler and a handle of the list,
  /// and
  ///         until `update` in any case.
  const step_decision* inspect(const tensor_list& gradients, const step_options& options = {},
                               const std::vector<sycl::event>& dependencies = {});

  /// Inspects the gradients, unless `unscale` has done so. Then the optimizer applies all of them, or none. The
  /// gradients are left as they are: scaled, unless `unscale` was called. If a learning rate in device memory is
  /// negative or NaN, the step is skipped with the status `invalid_number`.
  /// \throws misuse_error if no step was begun since the last `update`, the optimizer has stepped already, or its
  ///         gradients are the sums of an open accumulation window
  /// \throws what the optimizer throws. The step then counts as skipped by the user; call `update` and continue.
  sycl::event step(optimizer& optimizer, const step_options& options = {},
                   const std::vector<sycl::event>& dependencies = {});

  /// A joint step: all optimizers apply their gradients, or none does. They are clipped by the norm over the gradients
  /// of all optimizers, unless `step_options::clip_separately` is set. With one `step` per optimizer instead, one
  /// optimizer may be skipped and another not. If an optimizer throws, those after it are not applied, and the step is
  /// not recorded as applied.
  ///
  /// Gradients that `unscale` was called for keep the clip coefficient that they got there. So `max_norm` is refused if
  /// there are any, as it is by a step of one optimizer. To clip all of them, leave `unscale` out.
  sycl::event step(std::span<optimizer* const> optimizers, const step_options& options = {},
                   const std::vector<sycl::event>& dependencies = {});

  /// Moves the scale by what was found since the last `update`, writes the ledger, and calls back (`on_step`).
  /// \throws misuse_error if nothing was inspected
  sycl::event update(const std::vector<sycl::event>& dependencies = {});

  /// Sets the scale instead. Counters stay as they are.
  sycl::event update(float new_scale, const std::vector<sycl::event>& dependencies = {});

  // --- Accumulation over several backward passes --------------------------------------------------------------------

  /// sum += gradients / S, unless they overflowed: then this micro-batch is dropped as a whole. The scale may change
  /// between micro-batches (`update` after each), because sums are unscaled. The first call opens a window, and
  /// `step_accumulated` closes it. While it is open, `sum` is refused by `step`, `unscale`, `inspect` and as input of
  /// `accumulate`. Hold the list `sum` while the window is open: a list without a handle is no longer protected.
  sycl::event accumulate(const tensor_list& gradients, const tensor_list& sum,
                         const std::vector<sycl::event>& dependencies = {});

  /// Applies the mean of the micro-batches that were not dropped since the last call. If all were dropped, nothing is
  /// applied. The optimizer's gradients are the sums. Clear them afterwards (`clear_gradients`).
  sycl::event step_accumulated(optimizer& optimizer, const step_options& options = {},
                               const std::vector<sycl::event>& dependencies = {});

  // --- Flags --------------------------------------------------------------------------------------------------------

  /// A word in device memory. If a kernel ORs `found_by_user` into it, the gradients that `step`, `unscale` or
  /// `inspect` reads next are skipped, and the scale stays.
  std::uint32_t* device_user_flags() const;

  /// Continues after the policy has stopped, with the scale as it is.
  sycl::event resume(const std::vector<sycl::event>& dependencies = {});

  // --- Readings -----------------------------------------------------------------------------------------------------

  const float* device_scale() const;                   ///< in device memory; with several, each `scale_stride()` floats
  static std::uint32_t scale_stride();                 ///< distance between two scales
  const scale_state* device_state() const;             ///< in device memory, one a scale
  float get_scale(std::uint32_t index = 0) const;      ///< waits
  step_record outcome(std::uint32_t index = 0) const;  ///< of the last `update`; waits

  /// The last records, oldest first. Does not wait, and may be called by any thread. Steps are whole and without gaps:
  /// at most one step, the one that is being recorded, is missing of those that the device has finished.
  std::vector<ledger_entry> ledger() const;

  /// Calls `handler` for each new record, from `update` and `report`, on the caller's thread.
  void on_step(std::function<void(const ledger_entry&)> handler);

  /// Calls back for what has become visible since; after a wait, for everything.
  void report();

  // --- Settings and state -------------------------------------------------------------------------------------------

  const scaling_policy& policy() const;

  /// Changes the policy from the next `update` on; the scale and the counters stay. Does not wait. (Only a host that is
  /// two such changes ahead of the device waits for the older one.)
  /// \throws invalid_argument if it is not valid, or would switch scaling on or off (`scaling_mode::disabled`)
  /// \throws misuse_error while the queue is recorded into a graph: every replay would change it again
  void set_policy(const scaling_policy& policy);

  /// Everything, complete. Waits.
  /// \throws misuse_error between `scale` and `update`, or in an accumulation window: half a step cannot be saved
  scaler_snapshot state() const;

  /// Goes on where a snapshot was taken, on whatever device. Waits.
  /// \throws invalid_argument if it has another number of scales; nothing is changed then
  /// \throws misuse_error while the queue is recorded into a graph
  void load(const scaler_snapshot& snapshot);

  /// Allocates what a list of gradients needs, so that no later call does. (`unscale`, steps of several optimizers and
  /// `step_accumulated` compile their kernels when they are first called, unless `engine::compile_all` has.)
  void prepare(const tensor_list& gradients);

  const engine& get_engine() const;

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

}  // namespace SYCLAMP_NAMESPACE
