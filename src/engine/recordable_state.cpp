// SPDX-License-Identifier: Apache-2.0
#include "engine/recordable_state.hpp"

#include <mutex>
#include <utility>

namespace SYCLAMP_NAMESPACE {
namespace {

/// All recordable states of the process. Engines that share a queue do not know of each other, so the registry is
/// global.
struct registry {
  std::mutex mutex;
  std::uint64_t next = 0;
  std::map<std::uint64_t, const recordable_state*> states;
};

registry& all() {
  static registry& states = *new registry;  // never destroyed: scalers may live until the process ends
  return states;
}

}  // namespace

recordable_state::recordable_state(sycl::queue queue, std::function<std::function<void()>()> copy)
    : queue_(std::move(queue)), copy_(std::move(copy)) {
  const std::lock_guard lock(all().mutex);
  number_ = all().next++;
  all().states.emplace(number_, this);
}

recordable_state::~recordable_state() {
  const std::lock_guard lock(all().mutex);
  all().states.erase(number_);
}

remembered_states::remembered_states(const sycl::queue& queue) {
  const std::lock_guard lock(all().mutex);
  for (const auto& [number, state] : all().states)
    if (state->queue() == queue) restorers_.emplace(number, state->copy());
}

void remembered_states::restore() const {
  const std::lock_guard lock(all().mutex);
  for (const auto& [number, restore] : restorers_)
    if (all().states.contains(number)) restore();
}

}  // namespace SYCLAMP_NAMESPACE
