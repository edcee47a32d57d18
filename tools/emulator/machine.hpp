// SPDX-License-Identifier: Apache-2.0
// Executes a kernel. Work-groups run in random order, some of them at the same time, their warps by turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/emulator/access_log.hpp"
#include "tools/emulator/fault.hpp"
#include "tools/emulator/happens_before.hpp"
#include "tools/emulator/program.hpp"
#include "tools/emulator/statistics.hpp"

namespace emulator {

/// Addresses of an allocation, the end not included.
struct extent {
  std::uint64_t begin = 0, end = 0;
};
/// The allocation that holds an address; an empty one if there is none.
using allocation_finder = std::function<extent(std::uint64_t address)>;

struct launch_options {
  std::uint32_t groups = 1, group_size = 1;
  std::uint64_t seed = 1;
  std::uint32_t max_resident_groups = 4;
  std::uint64_t max_instructions = std::uint64_t{1} << 34;  ///< of warps; more is a fault
};

/// Executes `kernel` to its end.
/// \throws fault, and then memory is as far as the kernel came
kernel_statistics launch(const program& kernel, const launch_options& options, std::span<const std::uint64_t> arguments,
                         const allocation_finder& find_allocation);

class work_group;

/// What the groups of a launch have in common.
struct launch_state {
  const program& kernel;
  const launch_options& options;
  const allocation_finder& find_allocation;
  std::vector<std::uint8_t> parameters;
  std::vector<extent> allocations;  // those that were used so far
  access_log global_log;
  std::unordered_map<std::uint64_t, view> published;  // by atomic accesses, at an address
  kernel_statistics statistics;

  const extent& allocation_of(std::uint64_t address);
};

/// The lanes that have written a register, for each 16 bits of it.
struct set_parts {
  static constexpr std::uint32_t count = 4;
  lane_mask parts[count] = {};

  lane_mask all() const { return parts[0] & parts[1] & parts[2] & parts[3]; }
  void add(lane_mask lanes) {
    for (lane_mask& part : parts) part |= lanes;
  }
  /// Takes over what another register has, from its part `begin` on, for these lanes. Parts behind are set.
  void take(lane_mask lanes, const set_parts& other, std::uint32_t begin, std::uint32_t parts_taken, std::uint32_t to);
};

class warp {
 public:
  warp(work_group& group, std::uint32_t index);

  /// Executes up to `budget` instructions, or up to a barrier or the end.
  void run(std::uint64_t budget);

  bool is_done() const { return alive_ == 0; }
  bool is_waiting() const { return alive_ != 0 && waiting_ == alive_; }
  lane_mask waiting() const { return waiting_; }
  lane_mask exited() const { return all_ & ~alive_; }
  std::uint32_t place_of(std::uint32_t lane) const { return places_[lane]; }
  void pass_barrier() { waiting_ = 0; }

  std::uint64_t* values(std::uint32_t reg) { return registers_.get() + std::size_t{reg} * warp_size; }
  work_group& group() { return group_; }
  std::uint32_t local_id(std::uint32_t lane) const { return index_ * warp_size + lane; }
  std::uint32_t item(std::uint32_t lane) const;
  lane_mask all() const { return all_; }

  [[noreturn]] void fail(fault_kind kind, const instruction& where, std::uint32_t lane, const std::string& text);

 private:
  void regroup();
  bool execute(const instruction& what);
  void branch(const instruction& what, lane_mask taken);
  void need_set(const instruction& what, std::uint32_t reg, lane_mask lanes);
  void pass_on_unset(const instruction& what, lane_mask lanes);
  bool shuffle(const instruction& what, lane_mask enabled);
  bool has_all_lanes(const instruction& what, lane_mask here);
  void resume_shuffle();

  work_group& group_;
  std::uint32_t index_;
  std::unique_ptr<std::uint64_t[]> registers_;
  std::vector<set_parts> set_;
  std::uint32_t places_[warp_size] = {};
  lane_mask all_ = 0, alive_ = 0, waiting_ = 0, active_ = 0;
  lane_mask shuffling_ = 0;  // lanes that wait at a shuffle for the other lanes of its mask
  // Lanes that have diverged meet again where the furthest behind arrives: it always goes first.
  std::uint32_t place_ = 0, next_place_ = 0;
};

class work_group {
 public:
  work_group(launch_state& launch, std::uint32_t id);

  /// Lets one warp run for a while. Returns false when all are done.
  bool advance(std::mt19937_64& random);

  launch_state& launch() { return launch_; }
  std::uint32_t id() const { return id_; }
  std::uint32_t size() const { return launch_.options.group_size; }
  group_clock& clock() { return clock_; }

  std::vector<std::uint8_t>& shared() { return shared_; }
  std::vector<bool>& shared_is_set() { return shared_is_set_; }
  access_log& shared_log() { return shared_log_; }
  std::uint8_t* local_memory(std::uint32_t item) {
    return local_.data() + std::size_t{item} * launch_.kernel.local_bytes;
  }
  std::vector<bool>::iterator local_is_set(std::uint32_t item) {
    return local_is_set_.begin() + static_cast<std::ptrdiff_t>(std::size_t{item} * launch_.kernel.local_bytes);
  }

 private:
  void pass_barrier();

  launch_state& launch_;
  std::uint32_t id_;
  group_clock clock_;
  std::vector<std::uint8_t> shared_, local_;
  std::vector<bool> shared_is_set_, local_is_set_;
  access_log shared_log_;
  std::vector<warp> warps_;
};

}  // namespace emulator
