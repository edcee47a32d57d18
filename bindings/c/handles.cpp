// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/handles.hpp"

#include <bit>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bindings/c/call_notes.hpp"
#include "bindings/c/calls.hpp"

namespace syclamp::c {
namespace {

static_assert(sizeof(void*) == 8, "a handle has room for a mark, a generation and an index");

/// The three parts of a handle: 8 bits of mark and kind, 32 bits of generation, 24 bits of index. With the mark, no
/// handle is an address that a program can have, and no small number is a handle.
constexpr unsigned index_bits = 24, generation_bits = 32;
constexpr std::uint64_t mark = 0xa0;
constexpr std::size_t max_slots = std::size_t{1} << index_bits;

struct parts {
  std::uint64_t marked_kind;
  std::uint32_t generation;
  std::size_t index;
};

parts split(const void* handle) {
  const auto bits = std::bit_cast<std::uint64_t>(handle);
  return {.marked_kind = bits >> (index_bits + generation_bits),
          .generation = static_cast<std::uint32_t>(bits >> index_bits),
          .index = static_cast<std::size_t>(bits & (max_slots - 1))};
}

void* join(object_kind kind, std::uint32_t generation, std::size_t index) {
  const std::uint64_t marked_kind = mark | static_cast<std::uint64_t>(kind);
  return std::bit_cast<void*>(marked_kind << (index_bits + generation_bits) |
                              static_cast<std::uint64_t>(generation) << index_bits | static_cast<std::uint64_t>(index));
}

/// A place of the table. Its generation changes whenever its handle is removed, so an old handle does not fit.
struct slot {
  std::uint32_t generation = 1;
  object_kind kind = object_kind::engine;
  std::shared_ptr<void> object;
};

struct table {
  std::mutex mutex;
  std::vector<slot> slots;
  std::vector<std::size_t> free;
  std::size_t live = 0;
};

/// Never destroyed: other threads and handlers of `atexit` may call the library while the process ends.
table& handles() {
  static table& only = *new table;
  return only;
}

bool is_kind(std::uint64_t marked_kind) {
  return marked_kind > mark && marked_kind <= (mark | static_cast<std::uint64_t>(object_kind::recorded_step));
}

/// The slot of a handle. The caller holds the mutex.
slot& find_slot(table& all, const void* handle) {
  if (handle == nullptr) throw handle_error("the handle is null; create the object first, and check the status");
  const parts numbers = split(handle);
  if (!is_kind(numbers.marked_kind) || numbers.index >= all.slots.size())
    throw handle_error(fmt::format("{} is no handle of this library; pass a handle that it has returned", handle));
  slot& found = all.slots[numbers.index];
  const auto kind = static_cast<object_kind>(numbers.marked_kind & ~mark);
  if (!found.object || found.generation != numbers.generation || found.kind != kind)
    throw handle_error(
        fmt::format("the handle {} of kind {} was destroyed, or never existed", handle, to_string(kind)));
  return found;
}

slot& find_slot(table& all, const void* handle, object_kind kind) {
  slot& found = find_slot(all, handle);
  if (found.kind != kind)
    throw handle_error(fmt::format("the handle {} is of kind {}; pass one of kind {}", handle, to_string(found.kind),
                                   to_string(kind)));
  return found;
}

/// Takes an object out of the table.
std::shared_ptr<void> take(table& all, slot& found) {
  std::shared_ptr<void> object = std::move(found.object);
  --all.live;
  // A slot whose generations are used up stays empty for ever.
  if (found.generation++ != std::numeric_limits<std::uint32_t>::max())
    all.free.push_back(static_cast<std::size_t>(&found - all.slots.data()));
  return object;
}

}  // namespace

const char* to_string(object_kind kind) {
  switch (kind) {
    case object_kind::engine: return "engine";
    case object_kind::tensor_list: return "tensor_list";
    case object_kind::inspector: return "inspector";
    case object_kind::unscaled: return "unscaled";
    case object_kind::scaler: return "scaler";
    case object_kind::optimizer: return "optimizer";
    case object_kind::spike_guard: return "spike_guard";
    case object_kind::recorded_step: return "recorded_step";
  }
  return "unknown";
}

void* add_handle(object_kind kind, std::shared_ptr<void> object) {
  table& all = handles();
  const std::lock_guard lock(all.mutex);
  if (all.free.empty()) {
    if (all.slots.size() == max_slots) throw std::bad_alloc();
    all.free.reserve(all.slots.size() + 1);  // so that `take` never allocates
    all.slots.emplace_back();
    all.free.push_back(all.slots.size() - 1);
  }
  const std::size_t index = all.free.back();
  all.free.pop_back();
  slot& place = all.slots[index];
  place.kind = kind;
  place.object = std::move(object);
  ++all.live;
  return join(kind, place.generation, index);
}

std::shared_ptr<void> find_object(const void* handle, object_kind kind) {
  table& all = handles();
  std::shared_ptr<void> object;
  {
    const std::lock_guard lock(all.mutex);
    object = find_slot(all, handle, kind).object;
  }
  note_object(kind, object);
  return object;
}

known_object find_object(const void* handle) {
  table& all = handles();
  const std::lock_guard lock(all.mutex);
  const slot& found = find_slot(all, handle);
  return {found.kind, found.object};
}

void* copy_handle(const void* handle) {
  known_object found = find_object(handle);
  return add_handle(found.kind, std::move(found.object));
}

void remove_handle(const void* handle) {
  if (handle == nullptr) return;
  table& all = handles();
  std::shared_ptr<void> object;  // destroyed after the lock is gone: its destructor may take time
  const std::lock_guard lock(all.mutex);
  object = take(all, find_slot(all, handle));
}

void remove_handle(const void* handle, object_kind kind) {
  if (handle == nullptr) return;
  table& all = handles();
  std::shared_ptr<void> object;
  const std::lock_guard lock(all.mutex);
  object = take(all, find_slot(all, handle, kind));
}

std::size_t live_handles() {
  table& all = handles();
  const std::lock_guard lock(all.mutex);
  return all.live;
}

}  // namespace syclamp::c
