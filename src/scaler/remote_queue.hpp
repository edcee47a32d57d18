// SPDX-License-Identifier: Apache-2.0
// The state of a loss scaler on a queue other than its own, for the lists of gradients that belong to that queue.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "scaler/decision_kernels.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// The scaler's state in host memory, on the way from one context to another.
struct state_in_transit {
  state_in_transit(const engine& engine, std::uint32_t scales);

  usm_array<kernels::scaler_memory> memory;
  usm_array<scale_state> states;
  usm_array<kernels::open_step> open_steps;
};

/// The inspection result of a list, in host memory, on the way from one context to another.
struct list_in_transit {
  list_in_transit(const engine& engine, std::uint32_t scales);

  usm_array<inspection> results;
  usm_array<step_decision> decisions;
};

/// A list of gradients on a queue other than the scaler's.
struct remote_list {
  remote_list(const decision_kernels& there, const engine& home, const tensor_list& gradients);

  gradient_workspace workspace;    ///< on the list's own queue
  list_in_transit received, sent;  ///< in host memory of the list's context, and of the scaler's
};

/// One queue other than the scaler's. Its kernels are a mirror of the scaler: the same memory on that queue's device.
class remote_queue {
 public:
  remote_queue(const engine& there, const decision_kernels& home);

  const engine& get_engine() const { return mirror_.get_engine(); }
  command_queue queue() const { return command_queue(get_engine()); }
  const decision_kernels& mirror() const { return mirror_; }

  /// True if events order both queues, and memory is copied directly.
  bool is_in_home_context() const { return is_in_home_context_; }

  /// For a list of a third context: a copy of its results.
  struct guest {
    gradient_workspace workspace;
    list_in_transit sent;
  };
  guest& guest_for(const tensor_list& gradients);
  void release_guest(std::uint64_t list_id) { guests_.erase(list_id); }
  long guest_handles(std::uint64_t list_id) const { return guests_.contains(list_id) ? 1 : 0; }

  std::uint32_t* invalid_numbers() const { return &mirror_.memory()->invalid_numbers; }

  state_in_transit sent;                      ///< in host memory of this context
  usm_array<std::uint32_t> received_invalid;  ///< likewise
  usm_array<std::uint32_t> invalid_at_home;   ///< in the scaler's device memory: a copy of `invalid_numbers`
  bool is_in_step = false;                    ///< used since the last update

 private:
  decision_kernels mirror_;
  bool is_in_home_context_;
  std::map<std::uint64_t, guest> guests_;  ///< by id of the list
};

/// All of them, in order of first use.
class remote_queues {
 public:
  explicit remote_queues(const decision_kernels& home) : home_(home) {}

  /// Null for the scaler's own queue. Allocates and waits if the queue is new.
  /// \throws invalid_argument if the queue is of another context, and the scaler has a consensus
  remote_queue* find_or_make(const char* call, const engine& engine);

  const std::vector<std::unique_ptr<remote_queue>>& all() const { return queues_; }

 private:
  const decision_kernels& home_;
  std::vector<std::unique_ptr<remote_queue>> queues_;
};

}  // namespace SYCLAMP_NAMESPACE
