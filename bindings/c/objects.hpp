// SPDX-License-Identifier: Apache-2.0
/// \file
/// The objects behind handles. Each one keeps what it depends on: its engine, and the memory of its tensors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <unistd.h>

#include "bindings/c/call_notes.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/memory_blocks.hpp"
#include "syclamp/c/base.h"
#include "syclamp/device_array.hpp"
#include "syclamp/engine.hpp"
#include "syclamp/fused_optimizer.hpp"
#include "syclamp/inspector.hpp"
#include "syclamp/loss_scaler.hpp"
#include "syclamp/recorded_step.hpp"
#include "syclamp/spike_guard.hpp"
#include "syclamp/tensor_list.hpp"
#include "syclamp/unscaled_gradients.hpp"

namespace syclamp::c {

/// Faults of a queue that the C interface has made. The next call reports them.
struct queue_faults {
  std::mutex mutex;
  std::string message;
};

struct engine_object {
  static constexpr object_kind kind = object_kind::engine;

  engine_object(syclamp::engine engine, std::shared_ptr<queue_faults> faults);
  ~engine_object();
  engine_object(const engine_object&) = delete;
  engine_object& operator=(const engine_object&) = delete;

  /// \throws device_error if work of a queue that the C interface has made has failed
  void raise_faults() const;

  syclamp::engine engine;
  std::shared_ptr<queue_faults> faults;  ///< null: the queue has another handler
  mutable std::recursive_mutex calls;    ///< recursive, because functions of the caller may call the library
  pid_t process = getpid();
};

struct list_object {
  static constexpr object_kind kind = object_kind::tensor_list;
  std::shared_ptr<engine_object> engine;
  tensor_list list;
  std::vector<block_owner> blocks;   ///< one per tensor
  std::shared_ptr<void> owner = {};  ///< of the memory, if it is the shadow of an optimizer
};

struct inspector_object {
  static constexpr object_kind kind = object_kind::inspector;
  std::shared_ptr<list_object> list;
  syclamp::inspector inspector;
  device_array<clip_result> clips;  ///< of the list, then one per group
  std::uint32_t clipped = 0;        ///< number of results in `clips` that the last clip operation wrote
};

struct unscaled_object {
  static constexpr object_kind kind = object_kind::unscaled;
  std::shared_ptr<engine_object> engine;
  unscaled_gradients gradients;
  std::shared_ptr<list_object> list;  ///< keeps the memory
};

struct optimizer_object {
  static constexpr object_kind kind = object_kind::optimizer;
  std::shared_ptr<engine_object> engine;
  std::vector<block_owner> blocks;      ///< weights and moments; gradients belong to the list. Outlive the optimizer.
  std::vector<block_owner> lr_sources;  ///< one per group
  fused_optimizer optimizer;
  std::shared_ptr<list_object> gradients;
};

struct scaler_object {
  static constexpr object_kind kind = object_kind::scaler;
  std::shared_ptr<engine_object> engine;
  loss_scaler scaler;
  std::vector<std::shared_ptr<void>> used;  ///< lists and optimizers of the open step
};

struct spike_guard_object {
  static constexpr object_kind kind = object_kind::spike_guard;
  std::shared_ptr<engine_object> engine;
  spike_guard guard;
};

struct recorded_object {
  static constexpr object_kind kind = object_kind::recorded_step;
  std::shared_ptr<engine_object> engine;
  std::shared_ptr<call_notes> notes;  ///< keeps what the commands use. Outlives the step.
  recorded_step step;
};

/// The engine with which an object was made.
std::shared_ptr<engine_object> engine_of(const known_object& known);

/// Gives unscaled gradients to the caller, unless the caller does not want them.
void hand_over(unscaled_gradients made, const std::shared_ptr<list_object>& list, syclamp_unscaled* wanted);

/// The object of a caller's handle.
/// \throws handle_error if the handle is null, no longer exists or is of another kind
template <typename Object>
std::shared_ptr<Object> get(const void* handle) {
  return std::static_pointer_cast<Object>(find_object(handle, Object::kind));
}

/// The same for a handle that may be null.
template <typename Object>
std::shared_ptr<Object> get_optional(const void* handle) {
  return handle == nullptr ? nullptr : get<Object>(handle);
}

/// Enters an object, and returns its handle as the type of the C interface.
template <typename Handle, typename Object>
Handle make_handle(std::shared_ptr<Object> object) {
  return static_cast<Handle>(add_handle(Object::kind, std::move(object)));
}

/// Lets one thread at a time call an engine's objects, and reports faults of earlier work. Locks several engines in the
/// order of their addresses, so that two threads cannot wait for each other.
class call_order {
 public:
  call_order(std::initializer_list<const engine_object*> engines)
      : call_order(std::vector<const engine_object*>(engines)) {}
  explicit call_order(std::vector<const engine_object*> engines);

 private:
  std::vector<std::unique_lock<std::recursive_mutex>> locks_;
};

}  // namespace syclamp::c
