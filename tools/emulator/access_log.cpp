// SPDX-License-Identifier: Apache-2.0
#include "tools/emulator/access_log.hpp"

#include <algorithm>

namespace emulator {
namespace {

/// Whether what `item` does now conflicts with one of the accesses.
bool conflicts(const group_accesses& earlier, const group_clock& clock, std::uint32_t item) {
  if (earlier.last.time == 0) return false;
  const std::uint32_t group = clock.group_of(earlier.last.item);
  const bool are_others_ordered = earlier.others_time == 0 || clock.is_after_all(group, earlier.others_time, item);
  return !clock.is_after(earlier.last, item) || !are_others_ordered;
}

/// The same for a list, of which the accesses of the item's own group may be left out.
bool conflicts(const access_list& earlier, bool only_other_groups, const group_clock& clock, std::uint32_t item,
               conflict& found) {
  for (const group_accesses& each : earlier) {
    if (only_other_groups && clock.group_of(each.last.item) == clock.group()) continue;
    if (!conflicts(each, clock, item)) continue;
    found.other_item = each.last.item;
    return true;
  }
  return false;
}

/// Whether an access conflicts with atomic ones. Two atomic accesses do if one of them has a scope without the other.
bool conflicts(const atomic_accesses& earlier, access now, const group_clock& clock, std::uint32_t item,
               conflict& found) {
  for (const bool is_group_scope : {false, true}) {
    const bool is_atomic_for_all = is_atomic(now.kind) && !now.is_group_scope && !is_group_scope;
    if (is_atomic_for_all) continue;
    found.other_wrote = true;
    if (conflicts(earlier.writes[is_group_scope], is_atomic(now.kind), clock, item, found)) return true;
    found.other_wrote = false;
    if (!only_reads(now.kind) && conflicts(earlier.reads[is_group_scope], is_atomic(now.kind), clock, item, found))
      return true;
  }
  return false;
}

/// Adds an access to a list.
void note_in(access_list& list, stamp now, const group_clock& clock) {
  // Items come back soon if they come back at all. An entry too many does no harm.
  const auto recent = list.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(list.size(), 8));
  const auto same_item =
      std::find_if(recent, list.end(), [&](const group_accesses& each) { return each.last.item == now.item; });
  if (same_item != list.end()) {
    same_item->last = now;
    return;
  }
  // Many items of one group share an entry. It loses which of them was ordered by an atomic operation of its own.
  constexpr std::size_t max_single_items = 32;
  const auto same_group = std::find_if(
      recent, list.end(), [&](const group_accesses& each) { return clock.group_of(each.last.item) == clock.group(); });
  if (list.size() < max_single_items || same_group == list.end()) {
    list.push_back({now, 0});
    return;
  }
  same_group->others_time = same_group->last.time;
  same_group->last = now;
}

/// The list with this number. Makes one if there is none.
template <typename List>
List& list_of(std::vector<List>& lists, std::uint32_t& number) {
  if (number == 0) {
    lists.emplace_back();
    number = static_cast<std::uint32_t>(lists.size());
  }
  return lists[number - 1];
}

}  // namespace

bool access_log::note(std::uint64_t address, std::uint32_t bytes, access now, const group_clock& clock,
                      std::uint32_t item, conflict& found) {
  for (std::uint32_t i = 0; i < bytes; ++i)
    if (check(page_of(address + i)[(address + i) % page_bytes], now, clock, item, found)) {
      found.address = address + i;
      return true;
    }
  return false;
}

bool access_log::check(byte_log& log, access now, const group_clock& clock, std::uint32_t item, conflict& found) {
  if (log.written.time != 0 && !clock.is_after(log.written, item)) {
    found = {0, log.written.item, true};
    return true;
  }
  if (log.atomics != 0 && conflicts(atomics_[log.atomics - 1], now, clock, item, found)) return true;
  if (now.kind == access_kind::read) {
    note_reader(log, clock.now(item), clock);
    return false;
  }
  if (now.kind != access_kind::atomic_read) {
    found = {0, log.read.last.item, false};
    if (conflicts(log.read, clock, item)) return true;
    if (log.more_readers != 0 && conflicts(readers_[log.more_readers - 1], false, clock, item, found)) return true;
  }
  if (is_atomic(now.kind)) {
    atomic_accesses& atomics = list_of(atomics_, log.atomics);
    note_in((only_reads(now.kind) ? atomics.reads : atomics.writes)[now.is_group_scope], clock.now(item), clock);
    return false;
  }
  // What comes after this write comes after all accesses before it.
  log.read = {};
  log.written = clock.now(item);
  if (log.more_readers != 0) readers_[log.more_readers - 1].clear();
  if (log.atomics != 0) atomics_[log.atomics - 1] = {};
  return false;
}

void access_log::note_reader(byte_log& log, stamp now, const group_clock& clock) {
  if (log.read.last.time == 0 || log.read.last.item == now.item)
    log.read.last = now;
  else
    note_in(list_of(readers_, log.more_readers), now, clock);
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
  atomics_.clear();
  last_number_ = ~std::uint64_t{0};
  last_ = nullptr;
}

}  // namespace emulator
