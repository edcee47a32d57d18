// SPDX-License-Identifier: Apache-2.0
#include "syclamp/tensor_list.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>

#include <fmt/format.h>

#include "device_memory.hpp"
#include "list_checks.hpp"
#include "sycl_kernels/layout.hpp"
#include "syclamp/error.hpp"
#include "tensor_table.hpp"

namespace syclamp {
namespace {

using kernels::tensor_alignment;
using kernels::tensor_kind;

std::uint32_t type_bit(element_type type) { return 1u << static_cast<std::uint32_t>(type); }

/// Refuses a pointer that the device could not follow. Memory from the system's allocator cannot be told from a pointer
/// of another context: it is let through where the device can read it.
void check_address(const engine& on, std::size_t index, const std::string& name, const void* address,
                   element_type type) {
  if (address == nullptr) return;
  if (reinterpret_cast<std::uintptr_t>(address) % size_of(type) != 0)
    throw invalid_argument(fmt::format("{}: its address {} is not aligned to its elements ({}, {} bytes each)",
                                       described(index, name), address, name_of(type), size_of(type)));
  const sycl::queue& queue = on.queue();
  const auto kind = sycl::get_pointer_type(address, queue.get_context());
  if (kind == sycl::usm::alloc::unknown && !queue.get_device().has(sycl::aspect::usm_system_allocations))
    throw invalid_argument(fmt::format(
        "{}: its address {} is not USM memory of the engine's context; allocate it with the engine's queue, "
        "or make the engine with the queue that the memory belongs to",
        described(index, name), address));
  if (kind == sycl::usm::alloc::device && sycl::get_pointer_device(address, queue.get_context()) != queue.get_device())
    throw invalid_argument(fmt::format(
        "{}: its address {} is memory of another device ({}) than the engine's", described(index, name), address,
        sycl::get_pointer_device(address, queue.get_context()).get_info<sycl::info::device::name>()));
}

}  // namespace

struct tensor_list::state {
  state(engine on_engine, std::vector<tensor> given) : on(std::move(on_engine)), tensors(std::move(given)) {
    if (tensors.size() >= std::numeric_limits<std::uint32_t>::max())
      throw invalid_argument(fmt::format("{} tensors are more than a list can hold (2^32 - 2)", tensors.size()));
    const std::size_t count = tensors.size();
    std::vector<std::uint64_t> starts;
    std::vector<std::uint32_t> kinds;
    std::uint64_t place = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const tensor& one = tensors[i];
      check_address(on, i, one.name, one.elements.data(), one.elements.type());
      if (one.group >= tensor_kind::most_groups)
        throw invalid_argument(fmt::format("{}: its group {} is not below {}", described(i, one.name), one.group,
                                           tensor_kind::most_groups));
      if (one.elements.count() > kernels::most_elements - place)
        throw invalid_argument(fmt::format("{}: with its {} elements the list has more than it can hold ({})",
                                           described(i, one.name), one.elements.count(), kernels::most_elements));
      const auto padding = static_cast<std::uint32_t>(-one.elements.count() % tensor_alignment);
      starts.push_back(place);
      kinds.push_back(tensor_kind::encode(one.elements.type(), padding, one.group));
      place += one.elements.count() + padding;
      elements += one.elements.count();
      groups = std::max(groups, one.group + 1);
      types |= type_bit(one.elements.type());
    }
    starts.push_back(place);

    sycl::queue& queue = on.queue();
    device_addresses = allocate_on_device<std::uint64_t>(queue, count);
    device_starts = allocate_on_device<std::uint64_t>(queue, count + 1);
    device_kinds = allocate_on_device<std::uint32_t>(queue, count);
    for (upload& slot : uploads) slot.addresses = allocate_on_host<std::uint64_t>(queue, count);
    queue.memcpy(device_starts.get(), starts.data(), starts.size() * sizeof(std::uint64_t));
    if (count != 0) queue.memcpy(device_kinds.get(), kinds.data(), count * sizeof(std::uint32_t));
    send_addresses();
    on.wait();
    static std::atomic<std::uint64_t> next_id = 0;
    view = {device_addresses.get(),    device_starts.get(),
            device_kinds.get(),        static_cast<std::uint32_t>(count),
            kernels::chunks_of(place), next_id.fetch_add(1, std::memory_order_relaxed)};
  }

  /// Copies the addresses to the device from one of two host buffers in turn, so that the copy before may still run.
  void send_addresses() {
    need_no_settings_recorded(on.queue());
    changed = false;
    ++view.version;
    if (tensors.empty()) return;
    upload& slot = uploads[next_upload];
    next_upload = (next_upload + 1) % uploads.size();
    slot.done.wait();
    for (std::size_t i = 0; i < tensors.size(); ++i)
      slot.addresses[i] =
          tensors[i].elements.count() == 0 ? 0 : reinterpret_cast<std::uintptr_t>(tensors[i].elements.data());
    slot.done = on.queue().memcpy(device_addresses.get(), slot.addresses.get(), tensors.size() * sizeof(std::uint64_t));
  }

  struct upload {
    device_array<std::uint64_t> addresses;
    sycl::event done;
  };

  engine on;
  std::vector<tensor> tensors;
  std::uint64_t elements = 0;
  std::uint32_t groups = 0;
  std::uint32_t types = 0;  ///< one `type_bit` for each type that there is
  device_array<std::uint64_t> device_addresses, device_starts;
  device_array<std::uint32_t> device_kinds;
  std::array<upload, 2> uploads;
  std::size_t next_upload = 0;
  bool changed = false;
  table view{};
};

tensor_list::tensor_list(engine on, std::vector<tensor> tensors)
    : state_(std::make_shared<state>(std::move(on), std::move(tensors))) {}

tensor_list::tensor_list(engine on, array_view only) : tensor_list(std::move(on), std::vector<tensor>{{only}}) {}

std::size_t tensor_list::size() const { return state_->tensors.size(); }
std::uint64_t tensor_list::elements() const { return state_->elements; }
const std::string& tensor_list::name(std::uint64_t index) const { return state_->tensors.at(index).name; }
array_view tensor_list::operator[](std::size_t index) const { return state_->tensors.at(index).elements; }
std::uint32_t tensor_list::group(std::size_t index) const { return state_->tensors.at(index).group; }
std::uint32_t tensor_list::groups() const { return state_->groups; }
bool tensor_list::is_all(element_type type) const { return (state_->types & ~type_bit(type)) == 0; }
const engine& tensor_list::on() const { return state_->on; }

void tensor_list::set_address(std::size_t index, const void* address) {
  if (index >= state_->tensors.size())
    throw invalid_argument(fmt::format("there is no tensor {} in a list of {}", index, state_->tensors.size()));
  tensor& one = state_->tensors[index];
  if (one.elements.data() == address) return;
  check_address(state_->on, index, one.name, address, one.elements.type());
  one.elements = array_view(address, one.elements.count(), one.elements.type());
  state_->changed = true;
}

const tensor_list::table& tensor_list::prepared() const {
  if (state_->changed) state_->send_addresses();
  return state_->view;
}

}  // namespace syclamp
