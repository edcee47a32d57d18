// SPDX-License-Identifier: Apache-2.0
// Which accesses are ordered before which, as the PTX memory model has it.
//
// Every work-group has a time, which moves on at its barriers and when one of its work-items releases. An access is
// stamped with the work-item and its group's time. Barriers order the accesses of a group. Accesses of other groups are
// ordered by views only: what a release publishes at an address, an acquire of the same address takes over.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace emulator {

/// When an access happened: by which work-item of the launch, at which time of its group.
struct stamp {
  std::uint32_t item = 0, time = 0;
};

/// What is known of other groups: all that they did before a time, and all that some of their items did up to a time.
class view {
 public:
  struct progress {
    std::uint32_t all_before = 0;
    std::map<std::uint32_t, std::uint32_t> items;
  };
  void join(const view& other);
  void add_group(std::uint32_t group, std::uint32_t all_before);
  void add_item(std::uint32_t group, stamp what);
  bool contains(std::uint32_t group, stamp what) const;
  bool contains_all(std::uint32_t group, std::uint32_t time) const;
  bool is_empty() const { return groups_.empty(); }
  void clear() { groups_.clear(); }

 private:
  std::unordered_map<std::uint32_t, progress> groups_;
};

/// The clock of a work-group, and what the group and each of its work-items have learned of others.
class group_clock {
 public:
  group_clock(std::uint32_t group, std::uint32_t size) : group_(group), size_(size) {}

  stamp now(std::uint32_t item) const { return {item, time_}; }
  std::uint32_t group() const { return group_; }

  /// Whether `earlier` is ordered before what `item` of this group does now.
  bool is_after(stamp earlier, std::uint32_t item) const;
  /// The same of all that `group` did up to `time`.
  bool is_after_all(std::uint32_t group, std::uint32_t time, std::uint32_t item) const;
  std::uint32_t group_of(std::uint32_t item) const { return item / size_; }

  void barrier();
  /// Adds to `published` all that `item` has done and learned.
  void release(std::uint32_t item, view& published);
  void acquire(std::uint32_t item, const view& published);

  // A fence and a relaxed atomic access work together: the fence before a store, or after a load.
  void release_fence(std::uint32_t item);
  void acquire_fence(std::uint32_t item);
  void relaxed_store(std::uint32_t item, view& published);
  void relaxed_load(std::uint32_t item, const view& published);

 private:
  std::uint32_t group_, size_, time_ = 1, last_barrier_ = 1;
  view common_;                                      // what every work-item knows since the last barrier
  std::unordered_map<std::uint32_t, view> of_item_;  // and what one of them has learned since
  std::unordered_map<std::uint32_t, view> fenced_, pending_;
};

}  // namespace emulator
