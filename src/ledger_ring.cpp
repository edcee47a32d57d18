// SPDX-License-Identifier: Apache-2.0
#include "ledger_ring.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <optional>

namespace syclamp {
namespace {

using kernels::ledger_slot;
using words = std::array<std::uint32_t, kernels::record_words>;

std::uint64_t check_of(std::uint64_t number, const words& content) {
  std::uint64_t check = kernels::first_check(number);
  for (const std::uint32_t word : content) check = kernels::mixed(check, word);
  return check;
}

template <typename T>
T loaded(const T& from, std::memory_order order) {
  return std::atomic_ref<T>(const_cast<T&>(from)).load(order);  // atomic_ref of a constant is C++26
}

/// The record of a slot, unless there is none or it is being written.
std::optional<ledger_slot> whole(const ledger_slot& slot) {
  const std::uint64_t number = loaded(slot.number, std::memory_order_acquire);
  if (number == 0) return {};
  const auto* from = reinterpret_cast<const std::uint32_t*>(&slot.record);
  words content;
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = loaded(from[i], std::memory_order_relaxed);
  const std::uint64_t check = loaded(slot.check, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (loaded(slot.number, std::memory_order_relaxed) != number || check != check_of(number, content)) return {};
  return ledger_slot{number, check, std::bit_cast<step_record>(content)};
}

}  // namespace

ledger_ring::ledger_ring(const engine& on, std::uint32_t capacity) : capacity_(capacity) {
  sycl::queue& queue = on.queue();
  if (queue.get_device().has(sycl::aspect::usm_atomic_host_allocations)) {
    written_ = allocate_on_host<ledger_slot>(queue, capacity);
  } else {
    written_ = allocate_on_device<ledger_slot>(queue, capacity);
    mirror_ = allocate_on_host<ledger_slot>(queue, capacity);
  }
  restore(on, {});
}

void ledger_ring::publish(const engine& on) const {
  if (mirror_) on.queue().memcpy(mirror_.get(), written_.get(), capacity_ * sizeof(ledger_slot));
}

std::vector<ledger_slot> ledger_ring::read(std::uint64_t after) const {
  std::uint64_t newest = 0;
  for (std::uint32_t i = 0; i < capacity_; ++i)
    newest = std::max(newest, loaded(visible()[i].number, std::memory_order_acquire));
  // Records before the newest one are complete, unless younger ones are taking their places by now.
  std::vector<ledger_slot> found;
  const std::uint64_t oldest = newest > capacity_ ? newest - capacity_ + 1 : 1;
  for (std::uint64_t number = std::max(oldest, after + 1); number <= newest; ++number)
    if (const auto slot = whole(visible()[(number - 1) % capacity_]); slot && slot->number == number)
      found.push_back(*slot);
  return found;
}

void ledger_ring::restore(const engine& on, const std::vector<ledger_slot>& slots) const {
  std::vector<ledger_slot> content(capacity_, ledger_slot{});
  for (const ledger_slot& slot : slots) content[(slot.number - 1) % capacity_] = slot;
  on.queue().memcpy(written_.get(), content.data(), content.size() * sizeof(ledger_slot));
  publish(on);
  on.wait();
}

ledger_slot slot_of(std::uint64_t number, const step_record& record) {
  return {number, check_of(number, std::bit_cast<words>(record)), record};
}

}  // namespace syclamp
