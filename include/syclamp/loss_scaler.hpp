// SPDX-License-Identifier: Apache-2.0
/// \file
/// The loss scaler: the words of PyTorch's GradScaler, all state on the device, nothing that waits.
///
///     loss_scaler scaler(engine);                  // or loss_scaler(engine, scaling_preset("megatron"))
///     for (…) {
///       scaler.scale(loss);                        // loss · S, before the backward pass
///       …                                          // your backward pass leaves scaled gradients
///       scaler.step(optimizer);                    // inspects them; unscales, clips and applies, or skips
///       scaler.update();                           // moves the scale
///     }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <syclamp/engine.hpp>
#include <syclamp/inspector.hpp>
#include <syclamp/ledger.hpp>
#include <syclamp/optimizer.hpp>
#include <syclamp/scaler_snapshot.hpp>
#include <syclamp/scaling_policy.hpp>
#include <syclamp/step_decision.hpp>
#include <syclamp/step_record.hpp>
#include <syclamp/unscaled_gradients.hpp>

namespace syclamp {

/// Brings the flags of several devices or ranks together, before anything is decided. Each rank contributes `count`
/// numbers in device memory, which the hook replaces by their sums over all ranks; numbers are 0 or more, and a flag is
/// set where its sum is not 0. Called by every step of every path, by ranks without gradients, too, with the same
/// `count` on every rank. The norm is that of all ranks' gradients together: of parts of a model that is divided among
/// them. Ranks that hold the same gradients, after an all-reduce, agree without a hook.
using consensus_hook = std::function<void(sycl::queue& queue, float* numbers, std::size_t count)>;

struct scaler_options {
  std::uint32_t scales = 1;     ///< 1: one for all tensors; more: one for each group of tensors (`tensor::group`)
  bool skip_together = true;    ///< with several scales: an overflow in one group skips all of them
  std::uint32_t ledger = 1024;  ///< how many records are kept
  consensus_hook consensus = {};
};

/// Scales losses, decides whether gradients are applied, and moves the scale.
///
/// A step is: `scale`, your backward pass, optionally `unscale`, `step`, `update`. None of them waits, allocates or
/// reads anything back (a list of gradients that is seen for the first time allocates once; `prepare` does it before),
/// so the whole sequence can be recorded into a SYCL graph. Calls in a wrong order are refused with an exception that
/// says what to call. From the first kernel of `step` to the last of `update` there are three kernels for one
/// optimizer, however many tensors it has: one that inspects and decides, the optimizer's, and one that moves the
/// scale.
///
/// A scaler is a handle: copies share everything, and moving is copying. It is for one thread at a time, except for the
/// ledger. Everything that it is given belongs to its queue. The scaler keeps scratch memory per list. When it sees a
/// new list, it frees the memory of lists that nobody else holds, unless they were used while a graph was recorded.
/// Making lists takes time: make them once, and change their addresses.
class loss_scaler {
 public:
  /// \throws invalid_argument if the policy or an option is not valid
  explicit loss_scaler(engine engine, const scaling_policy& policy = {}, const scaler_options& options = {});

  // Moving is copying, so that a handle that was moved from stays usable.
  loss_scaler(const loss_scaler&) = default;
  loss_scaler(loss_scaler&& other) noexcept : loss_scaler(other) {}  // NOLINT(performance-move-*)
  loss_scaler& operator=(const loss_scaler&) = default;
  loss_scaler& operator=(loss_scaler&& other) noexcept { return *this = other; }

  // --- A step -------------------------------------------------------------------------------------------------------
  // \throws invalid_argument, all of them, if a list or an optimizer belongs to another queue than the scaler

  /// loss = loss · S, in place or to another list.
  sycl::event scale(const tensor_list& loss);
  sycl::event scale(const tensor_list& loss, const tensor_list& scaled);

  /// For those who multiply by `*device_scale()` in kernels of their own: says that it has been done.
  void begin_step();

  /// Unscales gradients now, for those who want to look at them, or to clip them by hand, before `step`. FP32 gradients
  /// are unscaled in place; 16-bit ones into the optimizer's FP32 shadow.
  /// \param max_norm  in device memory; null: no clipping
  /// \throws misuse_error if it is called twice, or after `step`, without an `update` in between
  unscaled_gradients unscale(optimizer& optimizer, const float* max_norm = nullptr);

  /// The same without an optimizer, FP32 gradients in place or any to an FP32 shadow; what is found counts for the next
  /// `update`.
  unscaled_gradients unscale(const tensor_list& gradients, const float* max_norm = nullptr);
  unscaled_gradients unscale(const tensor_list& gradients, const tensor_list& unscaled,
                             const float* max_norm = nullptr);

  /// Decides on gradients without writing any, for kernels of your own, which read the decision on the device.
  /// \return in device memory: one decision, or one for each scale; valid as long as the scaler and a handle of the
  ///         list, and until `update` in any case
  const step_decision* inspect(const tensor_list& gradients, const float* max_norm = nullptr);

  /// Inspects (unless `unscale` has done so), then lets the optimizer apply the gradients, or nothing. The gradients
  /// are left as they are: scaled, unless `unscale` was called.
  /// \param max_norm  limit of the norm of the unscaled gradients, in device memory; null: no clipping. If it is
  /// negative or
  ///                  NaN, or a learning rate in device memory is, the step is skipped with the status
  ///                  `invalid_number`.
  /// \throws misuse_error if nothing was scaled since the last `update`, the optimizer has stepped already, or its
  ///         gradients are the sums of an open accumulation window
  /// \throws what the optimizer throws: the step then counts as skipped by the user; call `update`, and go on
  sycl::event step(optimizer& optimizer, const float* max_norm = nullptr);

  /// Several optimizers: all of them, or none. (With a `step` for each, one may be skipped and another not.) If an
  /// optimizer throws, those after it are not applied, and the step is not recorded as applied.
  sycl::event step(std::span<optimizer* const> all, const float* max_norm = nullptr);

  /// Moves the scale by what was found since the last `update`, writes the ledger, and calls back (`on_step`).
  /// \throws misuse_error if nothing was inspected
  sycl::event update();

  /// Sets the scale instead. Counters stay as they are.
  sycl::event update(float new_scale);

  // --- Accumulation over several backward passes --------------------------------------------------------------------

  /// sum += gradients / S, unless they are bad: then this micro-batch is dropped as a whole. The scale may change
  /// between micro-batches (`update` after each), because sums are unscaled. From the first call to `step_accumulated`
  /// a window is open: until then `sum` is refused by `step`, `unscale`, `inspect` and as input of `accumulate`. Hold
  /// the list `sum` while the window is open: a list that is gone is no longer protected.
  sycl::event accumulate(const tensor_list& gradients, const tensor_list& sum);

  /// Applies the mean of the micro-batches that were not dropped since the last call; if none was left, nothing. The
  /// optimizer's gradients are the sums. Clear them afterwards (`clear`).
  sycl::event step_accumulated(optimizer& optimizer, const float* max_norm = nullptr);

  // --- Flags --------------------------------------------------------------------------------------------------------

  /// A word in device memory that kernels OR `found_by_user` into: the next gradients that are looked at (by `step`,
  /// `unscale` or `inspect`) are skipped, and the scale stays.
  std::uint32_t* device_user_flags() const;

  /// After the policy has stopped: goes on, with the scale as it is.
  sycl::event resume();

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

}  // namespace syclamp
