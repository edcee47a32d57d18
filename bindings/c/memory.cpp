// SPDX-License-Identifier: Apache-2.0
#include "syclamp/c/memory.h"

#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

#include "bindings/c/memory_blocks.hpp"
#include "bindings/c/objects.hpp"
#include "bindings/c/structs.hpp"

using namespace syclamp::c;

namespace {

sycl::usm::alloc to_kind(syclamp_memory_kind kind) {
  switch (kind) {
    case SYCLAMP_DEVICE_MEMORY: return sycl::usm::alloc::device;
    case SYCLAMP_SHARED_MEMORY: return sycl::usm::alloc::shared;
    case SYCLAMP_HOST_MEMORY: return sycl::usm::alloc::host;
    default: throw syclamp::invalid_argument(fmt::format("the argument kind is {}; it must be from 0 to 2", kind));
  }
}

void need_bytes(std::uint64_t bytes) {
  if (bytes == 0) throw syclamp::invalid_argument("the argument bytes is 0; a block has at least 1 byte");
}

}  // namespace

syclamp_status syclamp_memory_allocate(syclamp_engine engine, uint64_t bytes, syclamp_memory_kind kind,
                                       void** address) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(address, "address");
    need_bytes(bytes);
    const call_order order{object.get()};
    auto block = std::make_shared<memory_block>();
    block->memory = syclamp::device_memory(object->engine, bytes, 1, to_kind(kind));
    block->engine = object;
    block->begin = reinterpret_cast<std::uintptr_t>(block->memory.data());
    block->bytes = bytes;
    void* const begin = block->memory.data();
    add_block(std::move(block));
    *address = begin;
  });
}

syclamp_status syclamp_memory_adopt(syclamp_engine engine, void* address, uint64_t bytes) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    need(address, "address");
    need_bytes(bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    if (bytes > std::numeric_limits<std::uintptr_t>::max() - begin)
      throw syclamp::invalid_argument(fmt::format("{} bytes at {} do not fit into the address space", bytes, address));
    const sycl::queue& queue = object->engine.queue();
    if (sycl::get_pointer_type(address, queue.get_context()) == sycl::usm::alloc::unknown &&
        !queue.get_device().has(sycl::aspect::usm_system_allocations))
      throw syclamp::invalid_argument(
          "the device cannot read memory of the host's allocator; use syclamp_memory_allocate and copy to it");
    auto block = std::make_shared<memory_block>();
    block->engine = object;
    block->begin = begin;
    block->bytes = bytes;
    add_block(std::move(block));
  });
}

syclamp_status syclamp_memory_free(void* address) {
  return guarded(__func__, [&] {
    if (address != nullptr) remove_block(address);
  });
}

syclamp_status syclamp_memory_copy_in(syclamp_engine engine, void* destination, const void* source, uint64_t bytes) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    if (bytes == 0) return;
    need(destination, "destination");
    need(source, "source");
    const call_order order{object.get()};
    const block_owner owner = find_block(*object, destination, bytes, "destination");
    object->engine.queue().memcpy(destination, source, bytes);
    object->engine.wait();
  });
}

syclamp_status syclamp_memory_copy_out(syclamp_engine engine, void* destination, const void* source, uint64_t bytes) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    if (bytes == 0) return;
    need(destination, "destination");
    need(source, "source");
    const call_order order{object.get()};
    const block_owner owner = find_block(*object, source, bytes, "source");
    object->engine.queue().memcpy(destination, source, bytes);
    object->engine.wait();
  });
}

syclamp_status syclamp_memory_fill(syclamp_engine engine, void* destination, int32_t value, uint64_t bytes) {
  return guarded(__func__, [&] {
    const auto object = get<engine_object>(engine);
    if (value < 0 || value > 255)
      throw syclamp::invalid_argument(fmt::format("the argument value is {}; it must be from 0 to 255", value));
    if (bytes == 0) return;
    need(destination, "destination");
    const call_order order{object.get()};
    const block_owner owner = find_block(*object, destination, bytes, "destination");
    object->engine.queue().memset(destination, value, bytes);
  });
}
