// SPDX-License-Identifier: Apache-2.0
#include "tools/emulator/machine.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

namespace emulator {
namespace {

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

std::uint64_t special_value(special_register which, const work_group& group, const launch_options& options,
                            std::uint32_t local_id) {
  switch (which) {
    case special_register::local_id: return local_id;
    case special_register::group_size: return options.group_size;
    case special_register::group_id: return group.id();
    case special_register::groups: return options.groups;
    case special_register::lane: return local_id % warp_size;
    case special_register::zero: return 0;
    case special_register::one: return 1;
  }
  return 0;
}

}  // namespace

std::string_view to_string(fault_kind kind) {
  switch (kind) {
    case fault_kind::bounds: return "out of bounds";
    case fault_kind::alignment: return "misaligned access";
    case fault_kind::local_race: return "race in local memory";
    case fault_kind::global_race: return "race in global memory";
    case fault_kind::barrier: return "missed barrier";
    case fault_kind::unset_register: return "uninitialised register";
    case fault_kind::unset_memory: return "uninitialised memory";
    case fault_kind::wrong_warp: return "divergent matrix instruction";
    case fault_kind::missing_lanes: return "shuffle without all its lanes";
    case fault_kind::stuck: return "endless kernel";
  }
  return "fault";
}

const extent& launch_state::allocation_of(std::uint64_t address) {
  for (std::size_t i = 0; i < allocations.size(); ++i)
    if (address - allocations[i].begin < allocations[i].end - allocations[i].begin) {
      if (i > 0) std::swap(allocations[i], allocations[i - 1]);  // those in use move to the front
      return allocations[i > 0 ? i - 1 : 0];
    }
  static const extent none;
  const extent found = find_allocation(address);
  if (address < found.begin || address >= found.end) return none;
  return allocations.emplace_back(found);
}

warp::warp(work_group& group, std::uint32_t index)
    : group_(group),
      index_(index),
      registers_(
          std::make_unique_for_overwrite<std::uint64_t[]>(std::size_t{group.launch().kernel.registers} * warp_size)),
      set_(group.launch().kernel.registers) {
  const std::uint32_t lanes = std::min(warp_size, group.size() - index * warp_size);
  all_ = lanes == warp_size ? ~lane_mask{0} : (lane_mask{1} << lanes) - 1;
  alive_ = active_ = all_;
  next_place_ = nowhere;
  for (const auto& [reg, value] : group.launch().kernel.constants) {
    std::fill_n(values(reg), warp_size, value);
    set_[reg].add(~lane_mask{0});
  }
  for (const auto& [reg, which] : group.launch().kernel.specials) {
    for (std::uint32_t lane = 0; lane < warp_size; ++lane)
      values(reg)[lane] = special_value(which, group, group.launch().options, local_id(lane));
    set_[reg].add(~lane_mask{0});
  }
}

std::uint32_t warp::item(std::uint32_t lane) const { return group_.id() * group_.size() + local_id(lane); }

void warp::fail(fault_kind kind, const instruction& where, std::uint32_t lane, const std::string& text) {
  throw fault(kind, text + " (kernel " + group_.launch().kernel.name + ", PTX line " + std::to_string(where.line) +
                        ", work-group " + std::to_string(group_.id()) + ", work-item " +
                        std::to_string(local_id(lane)) + ")");
}

void warp::regroup() {
  for (lane_mask rest = active_; rest != 0; rest &= rest - 1) places_[std::countr_zero(rest)] = place_;
  active_ = 0;
  place_ = next_place_ = nowhere;
  for (lane_mask rest = alive_ & ~waiting_ & ~shuffling_; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (places_[lane] == place_) {
      active_ |= lane_mask{1} << lane;
    } else if (places_[lane] < place_) {
      next_place_ = place_;
      place_ = places_[lane];
      active_ = lane_mask{1} << lane;
    } else {
      next_place_ = std::min(next_place_, places_[lane]);
    }
  }
}

void warp::run(std::uint64_t budget) {
  const auto& code = group_.launch().kernel.code;
  std::uint64_t& executed = group_.launch().statistics.instructions;
  if (active_ == 0) regroup();
  while (budget-- > 0) {
    if (active_ == 0) {
      if (shuffling_ == 0) return;
      resume_shuffle();
    }
    ++executed;
    if (!execute(code[place_]) || place_ >= next_place_) regroup();
  }
}

/// Returns false if the lanes have parted or stopped.
bool warp::execute(const instruction& what) {
  lane_mask enabled = active_;
  if (what.guard != 0) {
    const std::uint64_t* guard = values(what.guard);
    need_set(what, what.guard, active_);
    enabled = 0;
    for (lane_mask rest = active_; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      if ((guard[lane] != 0) != what.is_guard_negated) enabled |= lane_mask{1} << lane;
    }
  }
  if (what.unset == instruction::unset_flow::fault)
    for (const std::uint32_t reg : what.reads) need_set(what, reg, enabled);
  switch (what.what) {
    case instruction::kind::plain:
      if (enabled != 0) what.run(*this, what, enabled);
      if (what.unset == instruction::unset_flow::fault)
        for (const std::uint32_t reg : what.writes) set_[reg].add(enabled);
      else
        pass_on_unset(what, enabled);
      ++place_;
      return true;
    case instruction::kind::branch:
      if (enabled == active_) {
        place_ = what.targets[0];
        return true;
      }
      branch(what, enabled);
      return enabled == 0;
    case instruction::kind::indexed_branch: branch(what, enabled); return false;
    case instruction::kind::barrier:
      ++place_;
      if (enabled == 0) return true;
      for (lane_mask rest = active_; rest != 0; rest &= rest - 1) places_[std::countr_zero(rest)] = place_;
      waiting_ |= enabled;
      active_ = 0;
      return false;
    case instruction::kind::shuffle: return shuffle(what, enabled);
    case instruction::kind::exit:
      ++place_;
      alive_ &= ~enabled;
      active_ &= ~enabled;
      return enabled == 0;
  }
  return true;
}

/// Lanes that arrive at a shuffle wait until the other lanes of its mask are there, too.
bool warp::shuffle(const instruction& what, lane_mask enabled) {
  if (enabled == 0) {
    ++place_;
    return true;
  }
  if (enabled != active_) fail(fault_kind::missing_lanes, what, 0, "a shuffle with a guard that lanes disagree on");
  for (lane_mask rest = shuffling_; rest != 0; rest &= rest - 1)
    if (const int lane = std::countr_zero(rest); places_[lane] == place_) active_ |= lane_mask{1} << lane;
  if (!has_all_lanes(what, active_)) {
    for (lane_mask rest = active_; rest != 0; rest &= rest - 1) places_[std::countr_zero(rest)] = place_;
    shuffling_ |= active_;
    active_ = 0;
    return false;
  }
  shuffling_ &= ~active_;
  what.run(*this, what, active_);
  for (const std::uint32_t reg : what.writes) set_[reg].add(active_);
  ++place_;
  return true;
}

/// Whether the lanes that are here are all that their masks name. Lanes that have ended are not waited for.
bool warp::has_all_lanes(const instruction& what, lane_mask here) {
  const std::uint64_t* masks = values(what.reads.back());
  for (lane_mask rest = here; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const auto mask = static_cast<lane_mask>(masks[lane]);
    if ((mask >> lane & 1) == 0)
      fail(fault_kind::missing_lanes, what, static_cast<std::uint32_t>(lane), "the mask does not name the lane itself");
    if ((mask & alive_ & ~here) != 0) return false;
  }
  return true;
}

/// All lanes wait. Those at a shuffle proceed if the ones that they waited for have ended.
void warp::resume_shuffle() {
  const int first = std::countr_zero(shuffling_);
  place_ = places_[first];
  for (lane_mask rest = shuffling_; rest != 0; rest &= rest - 1)
    if (const int lane = std::countr_zero(rest); places_[lane] == place_) active_ |= lane_mask{1} << lane;
  const instruction& what = group_.launch().kernel.code[place_];
  if (!has_all_lanes(what, active_))
    fail(fault_kind::missing_lanes, what, static_cast<std::uint32_t>(first),
         "the mask names lanes that wait elsewhere and never come here");
  shuffling_ &= ~active_;
}

void warp::need_set(const instruction& what, std::uint32_t reg, lane_mask lanes) {
  if (const lane_mask unset = lanes & ~set_[reg].all())
    fail(fault_kind::unset_register, what, static_cast<std::uint32_t>(std::countr_zero(unset)),
         "an operand has no value");
}

void set_parts::take(lane_mask lanes, const set_parts& other, std::uint32_t begin, std::uint32_t parts_taken,
                     std::uint32_t to) {
  for (std::uint32_t i = 0; i < parts_taken; ++i)
    parts[to + i] = (parts[to + i] & ~lanes) | (other.parts[begin + i] & lanes);
}

void warp::pass_on_unset(const instruction& what, lane_mask lanes) {
  const std::uint32_t per_register = what.bytes / 2;
  set_parts result = set_[what.writes[0]];
  switch (what.unset) {
    case instruction::unset_flow::fault: return;
    case instruction::unset_flow::copied: result.take(lanes, set_[what.reads[0]], 0, set_parts::count, 0); break;
    case instruction::unset_flow::selected: {
      need_set(what, what.reads[2], lanes);
      lane_mask first = 0;
      for (lane_mask rest = lanes; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        if (values(what.reads[2])[lane] != 0) first |= lane_mask{1} << lane;
      }
      result.take(first, set_[what.reads[0]], 0, set_parts::count, 0);
      result.take(lanes & ~first, set_[what.reads[1]], 0, set_parts::count, 0);
      break;
    }
    case instruction::unset_flow::packed:
      result.add(lanes);
      for (std::uint32_t i = 0; i < what.reads.size(); ++i)
        result.take(lanes, set_[what.reads[i]], 0, per_register, i * per_register);
      break;
    case instruction::unset_flow::unpacked: {
      const set_parts whole = set_[what.reads[0]];
      for (std::uint32_t i = 0; i < what.writes.size(); ++i) {
        set_[what.writes[i]].add(lanes);
        set_[what.writes[i]].take(lanes, whole, i * per_register, per_register, 0);
      }
      return;
    }
  }
  set_[what.writes[0]] = result;
}

void warp::branch(const instruction& what, lane_mask taken) {
  ++place_;
  if (taken == 0) return;
  for (lane_mask rest = active_ & ~taken; rest != 0; rest &= rest - 1) places_[std::countr_zero(rest)] = place_;
  for (lane_mask rest = taken; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const std::uint64_t which = what.what == instruction::kind::branch ? 0 : values(what.reads[0])[lane];
    if (which >= what.targets.size())
      fail(fault_kind::bounds, what, lane, "a branch to entry " + std::to_string(which) + " of a table");
    places_[lane] = what.targets[which];
  }
  active_ = 0;
}

work_group::work_group(launch_state& launch, std::uint32_t id)
    : launch_(launch),
      id_(id),
      clock_(id, launch.options.group_size),
      shared_(launch.kernel.shared_bytes, 0xcd),
      local_(std::size_t{launch.kernel.local_bytes} * launch.options.group_size, 0xcd),
      shared_is_set_(launch.kernel.shared_bytes),
      local_is_set_(local_.size()) {
  const std::uint32_t warps = (size() + warp_size - 1) / warp_size;
  warps_.reserve(warps);
  for (std::uint32_t i = 0; i < warps; ++i) warps_.emplace_back(*this, i);
}

bool work_group::advance(std::mt19937_64& random) {
  std::vector<warp*> ready;
  bool is_done = true;
  for (warp& each : warps_) {
    is_done = is_done && each.is_done();
    if (!each.is_done() && !each.is_waiting()) ready.push_back(&each);
  }
  if (is_done) return false;
  if (ready.empty()) {
    pass_barrier();
    return true;
  }
  // Mostly long turns, which are faster, and some very short ones.
  const std::uint64_t budget = random() % 4 == 0 ? 1 + random() % 16 : 1 + random() % 2048;
  ready[random() % ready.size()]->run(budget);
  return true;
}

void work_group::pass_barrier() {
  const instruction* barrier = nullptr;
  for (warp& each : warps_) {
    for (std::uint32_t lane = 0; lane < warp_size; ++lane) {
      if ((each.all() >> lane & 1) == 0) continue;
      if ((each.exited() >> lane & 1) != 0) {
        throw fault(fault_kind::barrier, "work-item " + std::to_string(each.local_id(lane)) + " of work-group " +
                                             std::to_string(id_) + " ended while others wait at a barrier (kernel " +
                                             launch_.kernel.name + ")");
      }
      const instruction& own = launch_.kernel.code[each.place_of(lane) - 1];
      if (barrier != nullptr && barrier != &own)
        each.fail(fault_kind::barrier, own, lane,
                  "waits here while others wait at the barrier of line " + std::to_string(barrier->line));
      barrier = &own;
    }
  }
  for (warp& each : warps_) each.pass_barrier();
  clock_.barrier();
}

kernel_statistics launch(const program& kernel, const launch_options& options, std::span<const std::uint64_t> arguments,
                         const allocation_finder& find_allocation) {
  if (arguments.size() != kernel.parameter_offsets.size())
    throw std::invalid_argument(kernel.name + " takes " + std::to_string(kernel.parameter_offsets.size()) +
                                " arguments and got " + std::to_string(arguments.size()));
  launch_state state{kernel, options, find_allocation, std::vector<std::uint8_t>(kernel.parameter_bytes), {}, {},
                     {},     {}};
  for (std::size_t i = 0; i < arguments.size(); ++i)
    std::memcpy(state.parameters.data() + kernel.parameter_offsets[i], &arguments[i], kernel.parameter_sizes[i]);
  state.statistics.launches = 1;

  std::mt19937_64 random(options.seed);
  std::vector<std::uint32_t> order(options.groups);
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::unique_ptr<work_group>> resident;
  const std::size_t most = 1 + random() % options.max_resident_groups;
  for (std::size_t next = 0; next < order.size() || !resident.empty();) {
    while (next < order.size() && resident.size() < most)
      resident.push_back(std::make_unique<work_group>(state, order[next++]));
    const std::size_t which = random() % resident.size();
    if (!resident[which]->advance(random)) resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(which));
    if (state.statistics.instructions > options.max_instructions)
      throw fault(fault_kind::stuck, "kernel " + kernel.name + " has executed " +
                                         std::to_string(state.statistics.instructions) + " instructions");
  }
  return state.statistics;
}

}  // namespace emulator
