// SPDX-License-Identifier: Apache-2.0
#include "tools/emulator/access_log.hpp"

#include <algorithm>

namespace emulator {
namespace {

/// Whether a write of `item` now conflicts with one of the readers.
bool conflicts(const group_readers& readers, const group_clock& clock, std::uint32_t item, conflict& found) {
  if (readers.last.time == 0) return false;
  const bool is_last_ordered = clock.is_after(readers.last, item);
  const std::uint32_t group = clock.group_of(readers.last.item);
  if (is_last_ordered && (readers.others_time == 0 || clock.is_after_all(group, readers.others_time, item)))
    return false;
  found = {0, readers.last.item, false};
  return true;
}

}  // namespace

bool access_log::note(std::uint64_t address, std::uint32_t bytes, access_kind kind, const group_clock& clock,
                      std::uint32_t item, conflict& found) {
  for (std::uint32_t i = 0; i < bytes; ++i)
    if (check(page_of(address + i)[(address + i) % page_bytes], kind, clock, item, found)) {
      found.address = address + i;
      return true;
    }
  return false;
}

bool access_log::check(byte_log& log, access_kind kind, const group_clock& clock, std::uint32_t item, conflict& found) {
  const stamp now = clock.now(item);
  const bool both_atomic = kind == access_kind::atomic && log.is_atomic;
  if (log.written.time != 0 && log.written.item != item && !both_atomic && !clock.is_after(log.written, item)) {
    found = {0, log.written.item, true};
    return true;
  }
  if (kind == access_kind::read) {
    note_reader(log, now, clock);
    return false;
  }
  // Reads that are part of atomic accesses are not noted, so every reader is a plain one.
  if (conflicts(log.read, clock, item, found)) return true;
  if (log.more_readers != 0) {
    auto& others = readers_[log.more_readers - 1];
    for (const group_readers& readers : others)
      if (conflicts(readers, clock, item, found)) return true;
    others.clear();
  }
  log.read = {};
  log.written = now;
  log.is_atomic = kind == access_kind::atomic;
  return false;
}

void access_log::note_reader(byte_log& log, stamp now, const group_clock& clock) {
  if (log.read.last.time == 0 || log.read.last.item == now.item) {
    log.read.last = now;
    return;
  }
  if (log.more_readers == 0) {
    readers_.emplace_back();
    log.more_readers = static_cast<std::uint32_t>(readers_.size());
  }
  auto& others = readers_[log.more_readers - 1];
  // Readers come back soon if they come back at all. An entry too many does no harm.
  const auto recent = others.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(others.size(), 8));
  const auto same_item =
      std::find_if(recent, others.end(), [&](const group_readers& each) { return each.last.item == now.item; });
  if (same_item != others.end()) {
    same_item->last = now;
    return;
  }
  // Many readers of one group share an entry. It loses which of them was ordered by an atomic operation of its own.
  constexpr std::size_t max_single_readers = 32;
  const auto same_group = std::find_if(
      recent, others.end(), [&](const group_readers& each) { return clock.group_of(each.last.item) == clock.group(); });
  if (others.size() < max_single_readers || same_group == others.end()) {
    others.push_back({now, 0});
    return;
  }
  same_group->others_time = same_group->last.time;
  same_group->last = now;
}

access_log::page& access_log::page_of(std::uint64_t address) {
  const std::uint64_t number = address / page_bytes;
  if (number == last_number_) return *last_;
  auto& found = pages_[number];
  if (found == nullptr) {
    if (spare_.empty()) {
      found = std::make_unique<page>();
    } else {
      found = std::move(spare_.back());
      spare_.pop_back();
      found->fill({});
    }
  }
  last_number_ = number;
  last_ = found.get();
  return *last_;
}

void access_log::clear() {
  for (auto& [number, used] : pages_)
    if (spare_.size() < 4096) spare_.push_back(std::move(used));
  pages_.clear();
  readers_.clear();
  last_number_ = ~std::uint64_t{0};
  last_ = nullptr;
}

}  // namespace emulator
