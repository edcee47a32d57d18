// SPDX-License-Identifier: Apache-2.0
#include "syclamp/tensor_list.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "engine/staged_upload.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "syclamp/error.hpp"
#include "tensors/address_checks.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

using kernels::tensor_alignment;
using kernels::tensor_kind;

std::uint32_t type_bit(element_type type) { return 1u << static_cast<std::uint32_t>(type); }

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

struct SYCLAMP_HIDDEN tensor_list::impl {
  impl(syclamp::engine owner, std::vector<tensor> given)
      : engine(std::move(owner)),
        tensors(std::move(given)),
        checks(engine.queue(), tensors.size()),
        upload(engine.queue(), tensors.size()) {
    if (tensors.size() >= std::numeric_limits<std::uint32_t>::max())
      throw invalid_argument(fmt::format(
          "tensor_list: there are {} tensors; a list holds at most 2^32 - 2, so make several lists", tensors.size()));
    const std::size_t count = tensors.size();
    std::vector<std::uint64_t> starts;
    std::vector<std::uint32_t> kinds;
    std::uint64_t place = 0;
    std::uint32_t replicated = 0;
    for (std::size_t i = 0; i < count; ++i) {
      tensor& tensor = tensors[i];
      take_count_of_view(i, tensor);
      const element_type type = tensor.data.type();
      addresses.push_back(address_of(tensor.data.address()));
      bytes.push_back(tensor.count * bytes_per_element(type));
      misaligned_bits.push_back(static_cast<std::uint8_t>(bytes_per_element(type) - 1));
      read_only.push_back(tensor.data.is_read_only());
      check(i, addresses.back());
      if (tensor.group >= tensor_kind::max_groups)
        throw invalid_argument(fmt::format("{}: its group is {}; a group must be below {}", described(i, tensor.name),
                                           tensor.group, tensor_kind::max_groups));
      if (tensor.count > kernels::max_elements - place)
        throw invalid_argument(
            fmt::format("{}: its {} elements make the list larger than the limit of {} elements; make several lists",
                        described(i, tensor.name), tensor.count, kernels::max_elements));
      const auto padding = static_cast<std::uint32_t>(-tensor.count % tensor_alignment);
      starts.push_back(place);
      kinds.push_back(tensor_kind::encode(type, padding, tensor.group, tensor.replicated));
      replicated += tensor.replicated ? 1 : 0;
      place += tensor.count + padding;
      elements += tensor.count;
      groups = std::max(groups, tensor.group + 1);
      types |= type_bit(type);
      view.has_gradient_types = view.has_gradient_types && kernels::is_among<gradient_types>(type);
    }
    starts.push_back(place);

    const command_queue queue(engine);
    device_addresses = allocate_on_device<std::uint64_t>(queue, count);
    device_starts = allocate_on_device<std::uint64_t>(queue, count + 1);
    device_kinds = allocate_on_device<std::uint32_t>(queue, count);
    queue.memcpy(device_starts.get(), starts.data(), starts.size() * sizeof(std::uint64_t));
    if (count != 0) queue.memcpy(device_kinds.get(), kinds.data(), count * sizeof(std::uint32_t));
    send_addresses();
    engine.wait();
    static std::atomic<std::uint64_t> next_id = 0;
    view.addresses = device_addresses.get();
    view.starts = device_starts.get();
    view.kinds = device_kinds.get();
    view.tensors = static_cast<std::uint32_t>(count);
    view.replicated = replicated;
    view.chunks = kernels::chunks_of(place);
    view.id = next_id.fetch_add(1, std::memory_order_relaxed);
    view.host_addresses = addresses;
    view.bytes = bytes;
    view.read_only = &read_only;
  }

  /// A tensor made from a view has the view's number of elements, unless its count is smaller.
  static void take_count_of_view(std::size_t index, tensor& described_tensor) {
    const std::uint64_t available = described_tensor.data.count();
    if (available == 0) return;
    if (described_tensor.count == 0) described_tensor.count = available;
    if (described_tensor.count > available)
      throw invalid_argument(
          fmt::format("{}: its count is {}, but its view has only {} elements; omit count or pass a larger view",
                      described(index, described_tensor.name), described_tensor.count, available));
  }

  /// Rejects an address that the device cannot dereference.
  void check(std::size_t index, std::uint64_t address) {
    if ((address & misaligned_bits[index]) != 0)
      refuse_alignment(index, tensors[index].name, std::bit_cast<const void*>(address), tensors[index].data.type());
    if (!checks.is_known(address)) checks.ask(index, tensors[index].name, address);
  }

  void need_tensor(std::uint64_t index) const {
    if (index >= tensors.size())
      throw invalid_argument(
          fmt::format("tensor_list: there is no tensor {}; the list has {} tensors, and indices begin at 0", index,
                      tensors.size()));
  }

  void send_addresses() {
    need_no_settings_recorded(engine.queue());
    changed = false;
    ++view.version;
    if (tensors.empty()) return;
    upload.send(engine.queue(), device_addresses.get(), [&](std::uint64_t* sent) {
      for (std::size_t i = 0; i < addresses.size(); ++i) sent[i] = bytes[i] == 0 ? 0 : addresses[i];
    });
  }

  syclamp::engine engine;
  std::vector<tensor> tensors;  ///< with the addresses that they had at first
  address_checks checks;
  std::vector<std::uint64_t> addresses, bytes;  ///< one per tensor, as they are now
  std::vector<std::uint8_t> misaligned_bits;    ///< of an address: those that must be 0
  std::vector<bool> read_only;                  ///< given as a pointer to const, and no other address since
  std::uint64_t elements = 0;
  std::uint32_t groups = 0;
  std::uint32_t types = 0;  ///< one `type_bit` for each type that there is
  usm_array<std::uint64_t> device_addresses, device_starts;
  usm_array<std::uint32_t> device_kinds;
  staged_upload<std::uint64_t> upload;
  bool changed = false;
  table view{};
};

tensor_list::tensor_list(engine engine, std::vector<tensor> tensors)
    : impl_(make_state<impl>(std::move(engine), std::move(tensors))) {}

std::size_t tensor_list::size() const { return impl_->tensors.size(); }
std::uint64_t tensor_list::elements() const { return impl_->elements; }
std::uint32_t tensor_list::groups() const { return impl_->groups; }
bool tensor_list::is_all(element_type type) const { return (impl_->types & ~type_bit(type)) == 0; }
const engine& tensor_list::get_engine() const { return impl_->engine; }
long tensor_list::use_count() const { return impl_.use_count(); }

const std::string& tensor_list::name(std::uint64_t index) const {
  impl_->need_tensor(index);
  return impl_->tensors[index].name;
}

std::uint32_t tensor_list::group(std::size_t index) const {
  impl_->need_tensor(index);
  return impl_->tensors[index].group;
}

bool tensor_list::is_replicated(std::size_t index) const {
  impl_->need_tensor(index);
  return impl_->tensors[index].replicated;
}

const_array_view tensor_list::operator[](std::size_t index) const {
  impl_->need_tensor(index);
  const tensor& first = impl_->tensors[index];
  return {std::bit_cast<const void*>(impl_->addresses[index]), first.count, first.data.type()};
}

array_view tensor_list::writable(std::size_t index) const {
  impl_->need_tensor(index);
  const tensor& first = impl_->tensors[index];
  if (impl_->read_only[index]) refuse_read_only("tensor_list", *this, index);
  return {std::bit_cast<void*>(impl_->addresses[index]), first.count, first.data.type()};
}

void tensor_list::set_address(std::size_t index, void* address) {
  impl_->need_tensor(index);
  const std::uint64_t next = address_of(address);
  if (impl_->addresses[index] == next && !impl_->read_only[index]) return;
  impl_->check(index, next);
  impl_->read_only[index] = false;
  impl_->addresses[index] = next;
  impl_->changed = true;
}

void tensor_list::set_addresses(std::span<void* const> addresses) {
  impl& own = *impl_;
  if (addresses.size() != own.addresses.size())
    throw invalid_argument(
        fmt::format("set_addresses: there are {} addresses, but the list has {} tensors; pass one address per tensor, "
                    "null for an absent tensor",
                    addresses.size(), own.addresses.size()));
  bool changes = false;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t next = address_of(addresses[i]);
    if (own.addresses[i] == next) continue;
    own.check(i, next);
    changes = true;
  }
  own.read_only.assign(own.read_only.size(), false);
  if (!changes) return;
  for (std::size_t i = 0; i < addresses.size(); ++i) own.addresses[i] = address_of(addresses[i]);
  own.changed = true;
}

const tensor_list::table& tensor_list::prepared() const {
  if (impl_->changed) impl_->send_addresses();
  return impl_->view;
}

}  // namespace SYCLAMP_NAMESPACE
