// SPDX-License-Identifier: Apache-2.0
#include "tensors/address_checks.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "engine/device_fault.hpp"
#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

/// The device itself, or the one that it is a part of. The parts of a device share its memory.
sycl::device root_of(sycl::device device) {
  while (device.get_info<sycl::info::device::partition_type_property>() != sycl::info::partition_property::no_partition)
    device = device.get_info<sycl::info::device::parent_device>();
  return device;
}

bool has_other_roots(const sycl::context& context, const sycl::device& root) {
  const auto devices = context.get_devices();
  return std::any_of(devices.begin(), devices.end(),
                     [&](const sycl::device& device) { return root_of(device) != root; });
}

}  // namespace

address_checks::address_checks(const sycl::queue& queue, std::size_t tensors)
    : address_checks(queue, tensors, translated("tensor_list", [&] {
                       return queue.get_device().has(sycl::aspect::usm_system_allocations);
                     })) {}

address_checks::address_checks(const sycl::queue& queue, std::size_t tensors, bool reads_system_memory)
    : context_(queue.get_context()),
      root_(translated("tensor_list", [&] { return root_of(queue.get_device()); })),
      asks_kind_(!reads_system_memory),
      asks_device_(translated("tensor_list", [&] { return has_other_roots(context_, root_); })),
      asks_(asks_kind_ || asks_device_) {
  if (!asks_) return;
  // Room for several addresses per tensor: frameworks alternate between a few.
  const std::size_t places = std::bit_ceil(std::max<std::size_t>(4 * tensors, 64));
  shift_ = static_cast<unsigned>(64 - std::countr_zero(places));
  known_.resize(places);
}

void address_checks::ask(std::size_t index, const std::string& name, std::uint64_t address) {
  ask(described(index, name), address);
}

void address_checks::ask(const std::string& operand, std::uint64_t address) {
  const void* pointer = std::bit_cast<const void*>(address);
  const auto kind = translated("address", [&] { return sycl::get_pointer_type(pointer, context_); });
  // Memory from the system's allocator cannot be told from memory of another context.
  if (kind == sycl::usm::alloc::unknown && asks_kind_)
    throw invalid_argument(fmt::format(
        "{}: its address {} is not USM memory of the engine's context; allocate it with the engine's queue, "
        "or make the engine with the queue that the memory belongs to",
        operand, pointer));
  // In a context of several sub-devices, the runtime names the wrong sub-device. Their root device is right.
  if (kind == sycl::usm::alloc::device && asks_device_)
    translated("address", [&] {
      if (const sycl::device device = sycl::get_pointer_device(pointer, context_); root_of(device) != root_)
        throw invalid_argument(
            fmt::format("{}: its address {} is memory of the device {}, which is not the engine's; allocate it with "
                        "the engine's queue",
                        operand, pointer, device.get_info<sycl::info::device::name>()));
    });
  if (!known_.empty()) known_[place_of(address)] = address;
}

void check_address(const sycl::queue& queue, const char* operand, const void* address) {
  address_checks(queue, 0).ask(operand, reinterpret_cast<std::uintptr_t>(address));
}

void refuse_alignment(std::size_t index, const std::string& name, const void* address, element_type type) {
  throw invalid_argument(fmt::format("{}: its address {} is not aligned for {}; it must be a multiple of {} bytes",
                                     described(index, name), address, to_string(type), bytes_per_element(type)));
}

}  // namespace SYCLAMP_NAMESPACE
