// SPDX-License-Identifier: Apache-2.0
#include "tools/emulator/memory.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "tools/emulator/lanes.hpp"

namespace emulator {
namespace {

constexpr u64 window_bytes = u64{1} << 32;

memory_space space_of(const instruction& what, u64& address) {
  if (what.space != memory_space::generic) return what.space;
  if (address - shared_window < window_bytes) {
    address -= shared_window;
    return memory_space::shared;
  }
  if (address - local_window < window_bytes) {
    address -= local_window;
    return memory_space::local;
  }
  return memory_space::global;
}

std::string hexadecimal(u64 value) {
  std::string digits;
  for (; value != 0 || digits.empty(); value /= 16) digits.insert(digits.begin(), "0123456789abcdef"[value % 16]);
  return "0x" + digits;
}

template <typename Flags>
bool are_set(Flags flags, access_kind kind, u32 bytes) {
  if (only_writes(kind)) {
    std::fill_n(flags, bytes, true);
    return true;
  }
  return std::all_of(flags, flags + bytes, [](bool is_set) { return is_set; });
}

void check_race(warp& self, const instruction& what, u32 lane, u64 address, u32 bytes, access_kind kind,
                bool is_shared) {
  conflict found{};
  access_log& log = is_shared ? self.group().shared_log() : self.group().launch().global_log;
  if (!log.note(address, bytes, {kind, what.is_group_scope}, self.group().clock(), self.item(lane), found)) return;
  const u32 size = self.group().size();
  self.fail(is_shared ? fault_kind::local_race : fault_kind::global_race, what, lane,
            std::string(only_reads(kind) ? "reads " : "writes ") + hexadecimal(found.address) + ", which work-item " +
                std::to_string(found.other_item % size) + " of work-group " + std::to_string(found.other_item / size) +
                (found.other_wrote ? " has written" : " has read") + ", and nothing orders the two");
}

u64 address_of(warp& self, const instruction& what, u32 lane) {
  return self.values(what.reads[0])[lane] + static_cast<u64>(what.offset);
}

u64 element(const u8* bytes, const instruction& what) {
  u64 value = 0;
  std::memcpy(&value, bytes, what.bytes);
  if (what.is_sign_extended) {
    const int unused = 64 - 8 * what.bytes;
    value = static_cast<u64>(static_cast<s64>(value << unused) >> unused);
  }
  return value;
}

void count(warp& self, const instruction& what, lane_mask active) {
  u64 addresses[warp_size];
  for_lanes(active, [&](u32 lane) { addresses[lane] = address_of(self, what, lane); });
  count_access(self, what, {addresses, active, static_cast<u32>(what.bytes) * what.count});
}

// The order that an atomic access makes. A release publishes at the address, an acquire takes over from there. Local
// memory orders nothing between groups.
bool orders_groups(const instruction& what, u64 address) {
  return !what.is_group_scope && what.order != memory_order::plain && space_of(what, address) == memory_space::global;
}
void order_load(warp& self, const instruction& what, u32 lane, u64 address) {
  if (!orders_groups(what, address)) return;
  const view& published = self.group().launch().published[address];
  const bool acquires = what.order == memory_order::acquire || what.order == memory_order::acq_rel;
  if (acquires)
    self.group().clock().acquire(self.item(lane), published);
  else
    self.group().clock().relaxed_load(self.item(lane), published);
}
void order_store(warp& self, const instruction& what, u32 lane, u64 address, bool replaces) {
  if (!orders_groups(what, address)) return;
  view& published = self.group().launch().published[address];
  if (replaces) published.clear();
  const bool releases = what.order == memory_order::release || what.order == memory_order::acq_rel;
  if (releases)
    self.group().clock().release(self.item(lane), published);
  else
    self.group().clock().relaxed_store(self.item(lane), published);
}

template <typename T, auto Function>
void atomic(warp& self, const instruction& what, lane_mask active) {
  self.group().launch().statistics.atomics += static_cast<u64>(std::popcount(active));
  for_lanes(active, [&](u32 lane) {
    const u64 address = address_of(self, what, lane);
    order_load(self, what, lane, address);
    u8* bytes = checked_memory(self, what, lane, address, what.bytes, what.bytes, access_kind::atomic_update);
    T old;
    std::memcpy(&old, bytes, sizeof old);
    const T changed = Function(old, from_bits<T>(self.values(what.reads[1])[lane]));
    std::memcpy(bytes, &changed, sizeof changed);
    order_store(self, what, lane, address, false);
    self.values(what.writes[0])[lane] = to_bits(old);
  });
}

template <typename T>
void add_atomics(std::map<std::string, executor>& table, const std::string& type) {
  table["add." + type] = atomic<T, [](T a, T b) { return static_cast<T>(a + b); }>;
  table["max." + type] = atomic<T, [](T a, T b) { return std::max(a, b); }>;
  table["min." + type] = atomic<T, [](T a, T b) { return std::min(a, b); }>;
  table["or." + type] = atomic<T, [](T a, T b) { return static_cast<T>(a | b); }>;
  table["and." + type] = atomic<T, [](T a, T b) { return static_cast<T>(a & b); }>;
  table["xor." + type] = atomic<T, [](T a, T b) { return static_cast<T>(a ^ b); }>;
  table["exch." + type] = atomic<T, [](T, T b) { return b; }>;
}

}  // namespace

u8* checked_memory(warp& self, const instruction& what, u32 lane, u64 address, u32 bytes, u32 alignment,
                   access_kind kind) {
  const u64 full = address;
  const memory_space space = space_of(what, address);
  if (address % alignment != 0)
    self.fail(fault_kind::alignment, what, lane,
              std::to_string(bytes) + " bytes at " + hexadecimal(full) + ", which is no multiple of " +
                  std::to_string(alignment));
  work_group& group = self.group();
  if (space == memory_space::global) {
    const extent& memory = group.launch().allocation_of(address);
    if (memory.begin == memory.end || memory.end - address < bytes)
      self.fail(fault_kind::bounds, what, lane,
                std::to_string(bytes) + " bytes at " + hexadecimal(full) +
                    (memory.begin == memory.end ? " are in no allocation" : " go beyond an allocation"));
    check_race(self, what, lane, address, bytes, kind, false);
    return reinterpret_cast<u8*>(address);  // NOLINT(performance-no-int-to-ptr): kernels have addresses as numbers
  }
  const bool is_shared = space == memory_space::shared;
  const u64 size = is_shared ? group.shared().size() : group.launch().kernel.local_bytes;
  if (address > size || size - address < bytes)
    self.fail(fault_kind::bounds, what, lane,
              std::to_string(bytes) + " bytes at " + std::to_string(address) + " of the " + std::to_string(size) +
                  " bytes of " + (is_shared ? "local" : "private") + " memory");
  const auto position = static_cast<std::ptrdiff_t>(address);
  const auto flags = (is_shared ? group.shared_is_set().begin() : group.local_is_set(self.local_id(lane))) + position;
  if (!are_set(flags, kind, bytes))
    self.fail(fault_kind::unset_memory, what, lane,
              std::to_string(bytes) + " bytes at " + std::to_string(address) + " of " +
                  (is_shared ? "local" : "private") + " memory have not all been written");
  if (!is_shared) return group.local_memory(self.local_id(lane)) + position;
  check_race(self, what, lane, address, bytes, kind, true);
  return group.shared().data() + position;
}

void count_access(warp& self, const instruction& what, const warp_access& access) {
  u64 address = access.addresses[std::countr_zero(access.active)];
  const memory_space space = space_of(what, address);
  if (space == memory_space::global) self.group().launch().statistics.count_global(access);
  if (space == memory_space::shared) self.group().launch().statistics.count_shared(access);
}

void load(warp& self, const instruction& what, lane_mask active) {
  count(self, what, active);
  const u32 bytes = static_cast<u32>(what.bytes) * what.count;
  const bool is_ordered = what.order != memory_order::plain;
  for_lanes(active, [&](u32 lane) {
    const u64 address = address_of(self, what, lane);
    if (is_ordered) order_load(self, what, lane, address);
    const u8* memory = checked_memory(self, what, lane, address, bytes, bytes,
                                      is_ordered ? access_kind::atomic_read : access_kind::read);
    u64 loaded[4];
    for (u32 i = 0; i < what.count; ++i) loaded[i] = element(memory + u64{i} * what.bytes, what);
    for (u32 i = 0; i < what.count; ++i) self.values(what.writes[i])[lane] = loaded[i];
  });
}

void load_parameter(warp& self, const instruction& what, lane_mask active) {
  const auto& parameters = self.group().launch().parameters;
  for (u32 i = 0; i < what.count; ++i) {
    const u64 value = element(parameters.data() + what.offset + u64{i} * what.bytes, what);
    for_lanes(active, [&](u32 lane) { self.values(what.writes[i])[lane] = value; });
  }
}

void store(warp& self, const instruction& what, lane_mask active) {
  count(self, what, active);
  const u32 bytes = static_cast<u32>(what.bytes) * what.count;
  const bool is_ordered = what.order != memory_order::plain;
  for_lanes(active, [&](u32 lane) {
    const u64 address = address_of(self, what, lane);
    u8* memory = checked_memory(self, what, lane, address, bytes, bytes,
                                is_ordered ? access_kind::atomic_write : access_kind::write);
    for (u32 i = 0; i < what.count; ++i)
      std::memcpy(memory + u64{i} * what.bytes, &self.values(what.reads[1 + i])[lane], what.bytes);
    if (is_ordered) order_store(self, what, lane, address, true);
  });
}

void fence(warp& self, const instruction& what, lane_mask active) {
  if (what.is_group_scope) return;
  for_lanes(active, [&](u32 lane) {
    self.group().clock().acquire_fence(self.item(lane));
    self.group().clock().release_fence(self.item(lane));
  });
}

executor find_atomic(std::string_view operation, std::string_view type) {
  static const auto table = [] {
    std::map<std::string, executor> all;
    add_atomics<u32>(all, "u32"), add_atomics<u32>(all, "b32"), add_atomics<s32>(all, "s32");
    add_atomics<u64>(all, "u64"), add_atomics<u64>(all, "b64"), add_atomics<s64>(all, "s64");
    return all;
  }();
  const auto found = table.find(std::string(operation) + "." + std::string(type));
  return found == table.end() ? nullptr : found->second;
}

}  // namespace emulator
