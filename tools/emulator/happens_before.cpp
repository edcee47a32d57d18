// SPDX-License-Identifier: Apache-2.0
#include "tools/emulator/happens_before.hpp"

#include <algorithm>

namespace emulator {

void view::join(const view& other) {
  for (const auto& [group, known] : other.groups_) {
    progress& mine = groups_[group];
    mine.all_before = std::max(mine.all_before, known.all_before);
    for (const auto& [item, time] : known.items) mine.items[item] = std::max(mine.items[item], time);
  }
}

void view::add_group(std::uint32_t group, std::uint32_t all_before) {
  groups_[group].all_before = std::max(groups_[group].all_before, all_before);
}

void view::add_item(std::uint32_t group, stamp what) {
  auto& time = groups_[group].items[what.item];
  time = std::max(time, what.time);
}

bool view::contains(std::uint32_t group, stamp what) const {
  const auto known = groups_.find(group);
  if (known == groups_.end()) return false;
  if (what.time < known->second.all_before) return true;
  const auto item = known->second.items.find(what.item);
  return item != known->second.items.end() && what.time <= item->second;
}

bool view::contains_all(std::uint32_t group, std::uint32_t time) const {
  const auto known = groups_.find(group);
  return known != groups_.end() && time < known->second.all_before;
}

bool group_clock::is_after_all(std::uint32_t group, std::uint32_t time, std::uint32_t item) const {
  if (group == group_ && time < last_barrier_) return true;
  if (common_.contains_all(group, time)) return true;
  const auto own = of_item_.find(item);
  return own != of_item_.end() && own->second.contains_all(group, time);
}

bool group_clock::is_after(stamp earlier, std::uint32_t item) const {
  if (earlier.item == item) return true;
  const std::uint32_t group = earlier.item / size_;
  if (group == group_ && earlier.time < last_barrier_) return true;
  if (common_.contains(group, earlier)) return true;
  const auto own = of_item_.find(item);
  return own != of_item_.end() && own->second.contains(group, earlier);
}

void group_clock::barrier() {
  for (const auto& [item, learned] : of_item_) common_.join(learned);
  of_item_.clear();
  last_barrier_ = ++time_;
}

void group_clock::release(std::uint32_t item, view& published) {
  published.join(common_);
  if (const auto own = of_item_.find(item); own != of_item_.end()) published.join(own->second);
  published.add_group(group_, last_barrier_);
  published.add_item(group_, {item, time_});
  ++time_;  // what comes after this is not published
}

void group_clock::acquire(std::uint32_t item, const view& published) {
  if (!published.is_empty()) of_item_[item].join(published);
}

void group_clock::release_fence(std::uint32_t item) { release(item, fenced_[item]); }

void group_clock::acquire_fence(std::uint32_t item) {
  if (const auto loaded = pending_.find(item); loaded != pending_.end()) acquire(item, loaded->second);
}

void group_clock::relaxed_store(std::uint32_t item, view& published) {
  if (const auto own = fenced_.find(item); own != fenced_.end()) published.join(own->second);
}

void group_clock::relaxed_load(std::uint32_t item, const view& published) {
  if (!published.is_empty()) pending_[item].join(published);
}

}  // namespace emulator
