// SPDX-License-Identifier: Apache-2.0
#include "syclamp/inspector.hpp"

#include "device_memory.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "tensor_table.hpp"

namespace syclamp {

struct inspector::state {
  explicit state(tensor_list of)
      : list(std::move(of)),
        findings(allocate_on_device<kernels::chunk_findings>(list.on().queue(), list.prepared().chunks)),
        result(allocate_on_device<inspection>(list.on().queue(), 1)) {
    list.on().kernels().prepare(launch::inspect_chunks);
  }

  tensor_list list;
  device_array<kernels::chunk_findings> findings;
  device_array<inspection> result;
};

inspector::inspector(tensor_list list) : state_(std::make_shared<state>(std::move(list))) {}

sycl::event inspector::operator()() const {
  const engine& on = state_->list.on();
  const auto& table = state_->list.prepared();
  launch::kernel_library& library = on.kernels();
  if (const auto groups = library.groups_for(launch::inspect_chunks, table.chunks); groups != 0)
    library.submit(on.queue(), launch::inspect_chunks, groups, table.addresses, table.starts, table.kinds,
                   table.tensors, state_->findings.get());
  return library.submit(on.queue(), launch::inspect_total, 1, state_->findings.get(), table.starts, table.tensors,
                        state_->result.get());
}

const inspection* inspector::device_result() const { return state_->result.get(); }

inspection inspector::result() const {
  const engine& on = state_->list.on();
  inspection seen;
  on.queue().memcpy(&seen, state_->result.get(), sizeof seen);
  on.wait();
  return seen;
}

inspection inspect(const engine& on, array_view array) {
  const inspector look(tensor_list(on, array));
  look();
  return look.result();
}

}  // namespace syclamp
