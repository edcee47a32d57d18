// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/memory_blocks.hpp"

#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "bindings/c/call_notes.hpp"
#include "bindings/c/calls.hpp"
#include "bindings/c/objects.hpp"
#include "syclamp/error.hpp"

namespace syclamp::c {
namespace {

struct table {
  std::mutex mutex;
  std::map<std::uintptr_t, block_owner> blocks;
};

/// Never destroyed, as the table of handles.
table& known() {
  static table& only = *new table;
  return only;
}

/// The block that contains an address; null if none does. The caller holds the mutex.
block_owner containing(const table& all, std::uintptr_t address) {
  auto next = all.blocks.upper_bound(address);
  if (next == all.blocks.begin()) return nullptr;
  const block_owner& block = std::prev(next)->second;
  return address - block->begin < block->bytes ? block : nullptr;
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

void add_block(std::shared_ptr<const memory_block> block) {
  table& all = known();
  const std::lock_guard lock(all.mutex);
  const auto next = all.blocks.lower_bound(block->begin);
  if (containing(all, block->begin) || (next != all.blocks.end() && next->first - block->begin < block->bytes))
    throw invalid_argument(fmt::format("the {} bytes at {:#x} overlap a block that is in use; free that block first",
                                       block->bytes, block->begin));
  all.blocks.emplace(block->begin, std::move(block));
}

void remove_block(const void* address) {
  table& all = known();
  block_owner removed;  // destroyed after the lock is gone: its destructor waits for submitted work
  const std::lock_guard lock(all.mutex);
  const auto found = all.blocks.find(number(address));
  if (found == all.blocks.end())
    throw handle_error(fmt::format(
        "no block begins at the address {}; free each address of syclamp_memory_allocate or syclamp_memory_adopt once",
        address));
  removed = std::move(found->second);
  all.blocks.erase(found);
}

std::size_t live_blocks() {
  table& all = known();
  const std::lock_guard lock(all.mutex);
  return all.blocks.size();
}

block_owner find_block(const engine_object& engine, const void* address, std::uint64_t bytes, const std::string& what) {
  if (address == nullptr) return nullptr;
  block_owner block;
  {
    table& all = known();
    const std::lock_guard lock(all.mutex);
    block = containing(all, number(address));
  }
  if (block) {
    const std::uint64_t room = block->bytes - (number(address) - block->begin);
    if (bytes > room)
      throw invalid_argument(
          fmt::format("{}: it needs {} bytes at {}, but its block ends after {} bytes", what, bytes, address, room));
    if (block->engine->engine.queue().get_context() != engine.engine.queue().get_context())
      throw invalid_argument(fmt::format(
          "{}: its address {} belongs to another engine; allocate it with the engine that uses it", what, address));
    note_block(block);
    return block;
  }
  if (sycl::get_pointer_type(address, engine.engine.queue().get_context()) == sycl::usm::alloc::unknown)
    throw invalid_argument(
        fmt::format("{}: its address {} is in no block that exists; use syclamp_memory_allocate, or "
                    "syclamp_memory_adopt for memory "
                    "of yours",
                    what, address));
  return nullptr;
}

block_owner find_block(const engine_object& engine, const void* address, std::uint64_t count, element_type type,
                       const std::string& what) {
  const std::uint64_t each = bytes_per_element(type);
  if (count > std::numeric_limits<std::uint64_t>::max() / each)
    throw invalid_argument(
        fmt::format("{}: {} elements of {} are more than memory can hold", what, count, syclamp::to_string(type)));
  return find_block(engine, address, count * each, what);
}

}  // namespace syclamp::c
