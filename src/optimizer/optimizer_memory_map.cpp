// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer_memory_map.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

using kernels::weight_storage;

/// A tensor that an optimizer writes, and how messages call it.
struct part {
  std::uint64_t begin, bytes;
  std::string name;
};

/// Calls `visit` with each part of a parameter until it returns true.
template <typename Visit>
bool visit_parts(const memory_parts& all, std::size_t i, const Visit& visit) {
  const kernels::parameter_slot& slot = all.slots[i];
  const std::uint64_t count = all.parameters[i].gradient.count();
  const std::string tensor = described(i, all.parameters[i].name);
  const bool is_split = slot.storage == weight_storage::split;
  if (visit(part{slot.weights, count * (is_split ? 2 : sizeof(float)), fmt::format("weights of {}", tensor)}))
    return true;
  if (slot.model != 0 && visit(part{slot.model, count * bytes_per_element(slot.model_type),
                                    fmt::format("{}weights of {}", is_split ? "" : "copy of the ", tensor)}))
    return true;
  for (std::uint32_t k = 0; k < all.states; ++k)
    if (visit(part{slot.states[k], count * bytes_per_element(all.storage.moments),
                   fmt::format("moment {} of {}", k, tensor)}))
      return true;
  const std::uint64_t shadow = reinterpret_cast<std::uintptr_t>(all.shadows[i]);
  if (shadow < all.arena_shadow.begin || shadow >= all.arena_shadow.end) return false;
  return visit(part{shadow, count * sizeof(float), fmt::format("unscaled gradient of {}", tensor)});
}

[[noreturn]] void refuse(const std::string& first, const std::string& second) {
  throw invalid_argument(fmt::format(
      "optimizer: the {} overlaps the {}, so a step would corrupt it; give each its own memory", first, second));
}

}  // namespace

optimizer_memory_map::optimizer_memory_map(const memory_parts& parts) : parts_(parts) {
  const auto is_own = [&](std::uint64_t address) {
    return address >= parts_.arena.begin && address < parts_.arena_shadow.end;
  };
  const auto add = [&](std::uint64_t address, std::uint64_t bytes, std::size_t parameter) {
    if (address != 0 && bytes != 0 && !is_own(address))
      written_.push_back({address, address + bytes, static_cast<std::uint32_t>(parameter)});
  };
  for (std::size_t i = 0; i < parts_.slots.size(); ++i) {
    const kernels::parameter_slot& slot = parts_.slots[i];
    const std::uint64_t count = parts_.parameters[i].gradient.count();
    add(slot.weights, count * sizeof(float), i);
    add(slot.model, count * bytes_per_element(slot.model_type), i);
    for (std::uint32_t k = 0; k < parts_.states; ++k)
      add(slot.states[k], count * bytes_per_element(parts_.storage.moments), i);
  }
  if (parts_.arena.begin < parts_.arena.end) written_.push_back(parts_.arena);
  written_and_shadows_ = written_;
  if (parts_.arena_shadow.begin < parts_.arena_shadow.end) written_and_shadows_.push_back(parts_.arena_shadow);
  sort_extents(written_);
  sort_extents(written_and_shadows_);
}

void optimizer_memory_map::check_within() const {
  const overlap found = overlap_within(written_and_shadows_);
  if (!found) return;
  // Two parts overlap. Finding out which ones is slow, so it happens only now.
  const std::uint64_t begin = found.second->begin, end = std::min(found.first->end, found.second->end);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts_.slots.size() && names.size() < 2; ++i)
    visit_parts(parts_, i, [&](const part& part) {
      if (part.begin < end && begin < part.begin + part.bytes) names.push_back(part.name);
      return names.size() == 2;
    });
  names.resize(2, "memory that the optimizer allocated");
  refuse(names[0], names[1]);
}

std::string optimizer_memory_map::part_at(std::uint64_t begin, std::uint64_t end) const {
  std::string name = "memory that the optimizer allocated";
  for (std::size_t i = 0; i < parts_.slots.size(); ++i)
    if (visit_parts(parts_, i, [&](const part& part) {
          const bool overlaps = part.begin < end && begin < part.begin + part.bytes;
          if (overlaps) name = part.name;
          return overlaps;
        }))
      break;
  return name;
}

bool optimizer_memory_map::has_seen(const tensor_list& gradients) const {
  const auto& table = gradients.prepared();
  return std::any_of(good_.begin(), good_.end(),
                     [&](const seen_list& list) { return list.version == table.version && list.id == table.id; });
}

void optimizer_memory_map::check_gradients(const tensor_list& gradients, bool are_own) {
  if (has_seen(gradients)) return;
  const auto& table = gradients.prepared();
  if (const overlap found = overlap_between(table.extents(), are_own ? written_and_shadows_ : written_)) {
    const memory_extent& gradient = *found.first;
    refuse(fmt::format("gradient of {}", described(gradients, gradient.index)), part_at(gradient.begin, gradient.end));
  }
  good_[next_good_] = {table.id, table.version};
  next_good_ = (next_good_ + 1) % good_.size();
}

}  // namespace SYCLAMP_NAMESPACE
