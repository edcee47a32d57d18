// SPDX-License-Identifier: Apache-2.0
#include "optimizer/step_progress.hpp"

#include <atomic>
#include <vector>

#include "engine/command_queue.hpp"

namespace SYCLAMP_NAMESPACE {

using kernels::progress_slot;

step_progress::step_progress(const engine& engine, std::size_t groups) : groups_(groups) {
  sycl::queue& queue = engine.queue();
  const bool shares_host_memory =
      translated("fused_optimizer", [&] { return queue.get_device().has(sycl::aspect::usm_atomic_host_allocations); });
  if (shares_host_memory) {
    written_ = allocate_on_host<progress_slot>(queue, groups);
  } else {
    written_ = allocate_on_device<progress_slot>(queue, groups);
    mirror_ = allocate_on_host<progress_slot>(queue, groups);
  }
  restore(engine, std::vector<kernels::parameter_group>(groups));
}

sycl::event step_progress::publish(const engine& engine, const sycl::event& step) const {
  return mirror_ ? command_queue(engine).memcpy(mirror_.get(), written_.get(), bytes()) : step;
}

/// The kernel writes `begin`, the numbers and `end`, in this order, and the host reads them in the opposite order. So
/// the numbers belong together if `begin` and `end` are equal.
optimizer_progress step_progress::read(std::size_t group) const {
  progress_slot& slot = (mirror_ ? mirror_ : written_)[group];
  const auto load = [](std::uint32_t& word) {
    return std::atomic_ref<std::uint32_t>(word).load(std::memory_order_acquire);
  };
  const auto load_number = [&](kernels::progress_number& number) {
    const std::uint64_t upper = load(number.upper);
    return upper << 32 | load(number.lower);
  };
  while (true) {
    const std::uint32_t end = load(slot.end);
    optimizer_progress progress{.last_was_applied = load(slot.last_was_applied) != 0,
                                .finished = load_number(slot.finished),
                                .applied = load_number(slot.applied)};
    if (load(slot.begin) == end) return progress;
  }
}

void step_progress::restore(const engine& engine, std::span<const kernels::parameter_group> groups) const {
  std::vector<progress_slot> content(groups_, progress_slot{});
  for (std::size_t i = 0; i < groups_; ++i) content[i].applied = kernels::split_number(groups[i].applied);
  command_queue(engine).memcpy(written_.get(), content.data(), bytes());
  if (mirror_) command_queue(engine).memcpy(mirror_.get(), content.data(), bytes());
  engine.wait();
}

}  // namespace SYCLAMP_NAMESPACE
