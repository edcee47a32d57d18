// SPDX-License-Identifier: Apache-2.0
#include "scaler/ledger_ring.hpp"

#include <map>

#include "engine/command_queue.hpp"
#include "scaler/ledger_reader.hpp"

namespace SYCLAMP_NAMESPACE {

using kernels::ledger_slot;

ledger_ring::ledger_ring(const engine& engine, std::uint32_t steps, std::uint32_t scales)
    : steps_(steps), scales_(scales) {
  sycl::queue& queue = engine.queue();
  const bool shares_host_memory =
      translated("loss_scaler", [&] { return queue.get_device().has(sycl::aspect::usm_atomic_host_allocations); });
  if (shares_host_memory) {
    written_ = allocate_on_host<ledger_slot>(queue, capacity());
  } else {
    written_ = allocate_on_device<ledger_slot>(queue, capacity());
    mirror_ = allocate_on_host<ledger_slot>(queue, capacity());
  }
  restore(engine, {}, 0);
}

void ledger_ring::publish(const engine& engine) const {
  if (mirror_) command_queue(engine).memcpy(mirror_.get(), written_.get(), capacity() * sizeof(ledger_slot));
}

std::vector<ledger_slot> ledger_ring::read(std::uint64_t after) const {
  std::uint64_t newest = newest_.load(std::memory_order_relaxed);
  auto found = ledger_reader<shared_memory>(visible(), steps_, scales_).read(after, newest);
  std::uint64_t known = newest_.load(std::memory_order_relaxed);
  while (known < newest && !newest_.compare_exchange_weak(known, newest, std::memory_order_relaxed)) {
  }
  return found;
}

void ledger_ring::restore(const engine& engine, const std::vector<ledger_slot>& slots,
                          std::uint64_t newest_step) const {
  std::vector<ledger_slot> content(capacity(), ledger_slot{});
  std::map<std::uint64_t, std::uint32_t> records;  // of each step
  const auto step_of = [&](const ledger_slot& slot) { return (slot.number - 1) / scales_ + 1; };
  for (const ledger_slot& slot : slots) ++records[step_of(slot)];
  for (const ledger_slot& slot : slots) {
    const std::uint64_t step = step_of(slot);
    if (records[step] == scales_ && step + steps_ > newest_step) content[(slot.number - 1) % capacity()] = slot;
  }
  command_queue(engine).memcpy(written_.get(), content.data(), content.size() * sizeof(ledger_slot));
  publish(engine);
  engine.wait();
  newest_.store(newest_step, std::memory_order_relaxed);
}

ledger_slot slot_of(std::uint64_t number, const step_record& record) {
  return {number, check_of(number, std::bit_cast<record_content>(record)), record};
}

}  // namespace SYCLAMP_NAMESPACE
