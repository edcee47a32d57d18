// SPDX-License-Identifier: Apache-2.0
#include "syclamp/inspector.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "backends/profile.hpp"
#include "device_memory.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"

namespace syclamp {

struct inspector::state {
  state(engine on, std::uint64_t capacity)
      : on(std::move(on)),
        capacity(capacity),
        most_groups(std::uint64_t{this->on.tuning().inspect.groups_per_unit} *
                    this->on.queue().get_device().get_info<sycl::info::device::max_compute_units>()),
        findings(allocate_on_device<kernels::chunk_findings>(this->on.queue(), kernels::chunks_of(capacity))),
        result(allocate_on_device<inspection>(this->on.queue(), 1)) {}

  engine on;
  std::uint64_t capacity;
  std::uint64_t most_groups;
  device_array<kernels::chunk_findings> findings;
  device_array<inspection> result;
};

inspector::inspector(engine on, std::uint64_t capacity) : state_(std::make_shared<state>(std::move(on), capacity)) {
  state_->on.kernels().prepare(launch::inspect_chunks);
}

sycl::event inspector::operator()(array_view array) const {
  if (array.count() > state_->capacity)
    throw invalid_argument(fmt::format("the array has {} elements, the inspector was made for {}; make it larger",
                                       array.count(), state_->capacity));
  if (array.data() == nullptr && array.count() != 0)
    throw invalid_argument(fmt::format("the array has {} elements but its pointer is null", array.count()));
  if (reinterpret_cast<std::uintptr_t>(array.data()) % size_of(array.type()) != 0)
    throw invalid_argument(fmt::format("the array at {} is not aligned to its {} elements of {} bytes", array.data(),
                                       name_of(array.type()), size_of(array.type())));
  launch::kernel_library& library = state_->on.kernels();
  sycl::queue& queue = state_->on.queue();
  const std::uint64_t groups = std::min(kernels::chunks_of(array.count()), state_->most_groups);
  if (groups != 0)
    library.submit(queue, launch::inspect_chunks, groups, array.data(), array.count(), array.type(),
                   state_->findings.get());
  return library.submit(queue, launch::inspect_total, 1, state_->findings.get(), array.count(), array.type(),
                        state_->result.get());
}

const inspection* inspector::device_result() const { return state_->result.get(); }

inspection inspector::result() const {
  inspection seen;
  state_->on.queue().memcpy(&seen, state_->result.get(), sizeof seen);
  state_->on.wait();
  return seen;
}

inspection inspect(const engine& on, array_view array) {
  const inspector look(on, array.count());
  look(array);
  return look.result();
}

}  // namespace syclamp
