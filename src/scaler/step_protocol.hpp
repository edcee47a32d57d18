// SPDX-License-Identifier: Apache-2.0
// The order of a loss scaler's calls: which lists of gradients it knows, how far each has come since the last `update`,
// and which calls are allowed. It submits nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "engine/recordable_state.hpp"
#include "scaler/decision_kernels.hpp"
#include "scaler/remote_queue.hpp"
#include "scaler/scaler_ledger.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// What has happened to a list of gradients since the last `update`.
enum class stage { fresh, unscaled, stepped };

/// The state of a list of gradients that a scaler knows.
struct known_list : gradient_workspace {
  stage reached = stage::fresh;
  std::uint64_t unscaled_to = 0;  ///< the list that holds them unscaled, by its id + 1; 0: none
  bool is_in_open_step = false;   ///< the record of the step may come to name its tensors
  bool is_recorded = false;       ///< a graph may use it at any time
  remote_queue* queue = nullptr;  ///< to which it belongs; null: the scaler's own
  std::unique_ptr<remote_list> remote = {};

  /// The workspace on the list's own queue.
  const gradient_workspace& local() const {
    if (remote) return remote->workspace;
    return *this;
  }
};

class step_protocol {
 public:
  step_protocol(const decision_kernels& kernels, remote_queues& queues, scaler_ledger& ledger);

  /// The state of a list. Allocates memory for a new list, and releases lists that the user no longer holds.
  /// \throws invalid_argument if the list has more groups than there are scales, or is of a context that cannot
  ///         be used
  known_list& known(const char* call, const tensor_list& gradients);

  /// \throws invalid_argument if the tensors have more groups than there are scales
  void need_scales_for(const tensor_list& list) const;

  // --- Progress of the step -----------------------------------------------------------------------------------------

  void begin_step() { is_scaled_ = true; }
  void mark_decided() { is_decided_ = true; }
  void mark_unscaled(known_list& list, const tensor_list& unscaled);

  /// A step of a disabled scaler, for which nothing is inspected.
  void mark_uninspected();

  /// All lists are fresh again.
  /// \return the number of uninspected steps since the last call
  std::uint32_t end_step();

  // --- Accumulation windows -----------------------------------------------------------------------------------------

  void open_window(const tensor_list& sum);
  void close_window(const tensor_list& sums);

  /// Ends the step and the window.
  void reset();

  // --- Misuse -------------------------------------------------------------------------------------------------------
  // \throws misuse_error, all of them, with the name of the call and what to call instead

  void need_scaled(const char* call) const;
  void need_decided() const;

  /// Neither in a step nor in a window.
  void need_no_open_step() const;

  void need_fresh(const char* call, const known_list& list) const;

  /// For calls that cannot use unscaled gradients.
  void need_untouched(const char* call, const known_list& list) const;

  /// The optimizer may step: fresh gradients, or those that were unscaled to its own shadow and are not clipped again.
  void need_steppable(const optimizer& stepping, const known_list& list, const step_options& options) const;

  /// Sums are unscaled: calls that divide by the scale would do so twice.
  /// \param apart  a list that is known not to overlap `list`
  void need_no_sums(const char* call, const tensor_list& list, const tensor_list* apart = nullptr) const;

 private:
  void release_lists();
  std::function<void()> copy_progress();

  const decision_kernels& kernels_;
  remote_queues& queues_;
  scaler_ledger& ledger_;
  std::map<std::uint64_t, known_list> lists_;  ///< by id
  bool is_scaled_ = false, is_decided_ = false, is_window_open_ = false;
  std::vector<tensor_list> sums_;  ///< of the open accumulation window
  std::uint32_t uninspected_ = 0;  ///< steps of a disabled scaler
  recordable_state recordable_;    ///< undoes the progress of calls whose recording was abandoned
};

}  // namespace SYCLAMP_NAMESPACE
