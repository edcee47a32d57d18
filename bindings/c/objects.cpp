// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/objects.hpp"

#include <algorithm>
#include <utility>

#include "syclamp/error.hpp"

namespace syclamp::c {

engine_object::engine_object(syclamp::engine made, std::shared_ptr<queue_faults> reported)
    : engine(std::move(made)), faults(std::move(reported)) {}

/// SYCL ends the program if a fault is reported after its queue was destroyed. A forked child must not wait: the
/// threads of the runtime are in its parent.
engine_object::~engine_object() {
  if (!faults || process != getpid()) return;
  try {
    engine.queue().wait_and_throw();
  } catch (...) {  // NOLINT(bugprone-empty-catch): a destructor has no caller that could handle it
  }
}

void engine_object::raise_faults() const {
  if (!faults || process != getpid()) return;  // in a forked child, the engine itself reports the misuse
  engine.queue().throw_asynchronous();
  const std::lock_guard lock(faults->mutex);
  if (!faults->message.empty()) throw device_error(std::exchange(faults->message, {}));
}

std::shared_ptr<engine_object> engine_of(const known_object& known) {
  switch (known.kind) {
    case object_kind::engine: return std::static_pointer_cast<engine_object>(known.object);
    case object_kind::tensor_list: return std::static_pointer_cast<list_object>(known.object)->engine;
    case object_kind::inspector: return std::static_pointer_cast<inspector_object>(known.object)->list->engine;
    case object_kind::unscaled: return std::static_pointer_cast<unscaled_object>(known.object)->engine;
    case object_kind::scaler: return std::static_pointer_cast<scaler_object>(known.object)->engine;
    case object_kind::optimizer: return std::static_pointer_cast<optimizer_object>(known.object)->engine;
    case object_kind::spike_guard: return std::static_pointer_cast<spike_guard_object>(known.object)->engine;
    case object_kind::recorded_step: return std::static_pointer_cast<recorded_object>(known.object)->engine;
  }
  return nullptr;
}

void hand_over(unscaled_gradients made, const std::shared_ptr<list_object>& list, syclamp_unscaled* wanted) {
  if (wanted != nullptr)
    *wanted = make_handle<syclamp_unscaled>(std::make_shared<unscaled_object>(list->engine, std::move(made), list));
}

call_order::call_order(std::vector<const engine_object*> engines) {
  std::sort(engines.begin(), engines.end());
  engines.erase(std::unique(engines.begin(), engines.end()), engines.end());
  locks_.reserve(engines.size());
  for (const engine_object* engine : engines) locks_.emplace_back(engine->calls);
  for (const engine_object* engine : engines) engine->raise_faults();
}

}  // namespace syclamp::c
