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

call_order::call_order(std::vector<const engine_object*> engines) {
  std::sort(engines.begin(), engines.end());
  engines.erase(std::unique(engines.begin(), engines.end()), engines.end());
  locks_.reserve(engines.size());
  for (const engine_object* engine : engines) locks_.emplace_back(engine->calls);
  for (const engine_object* engine : engines) engine->raise_faults();
}

}  // namespace syclamp::c
