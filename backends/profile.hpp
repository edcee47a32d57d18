// SPDX-License-Identifier: Apache-2.0
// A profile: which devices it is for, and the numbers by which kernels are tuned for them. It never changes what is
// computed, only in which order, so every profile is correct on every device.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sycl_kernels/shared/tuning.hpp"

namespace syclamp {

namespace backends {

/// The facts about a device from which its profile is chosen.
struct device_facts {
  bool is_cpu = false;
  bool is_gpu = false;
  std::uint32_t vendor_id = 0;           ///< as on the PCI bus
  std::uint32_t min_sub_group_size = 0;  ///< the smallest that the device offers; 0: it reports none
};

inline constexpr std::uint32_t intel_vendor = 0x8086;
inline constexpr std::uint32_t nvidia_vendor = 0x10de;
inline constexpr std::uint32_t amd_vendor = 0x1002;

template <std::uint32_t Vendor>
constexpr bool is_gpu_from(const device_facts& device) {
  return device.is_gpu && device.vendor_id == Vendor;
}

}  // namespace backends

struct profile {
  std::string_view name;
  bool (*matches)(const backends::device_facts&);  ///< true if the profile is for this device
  std::uint32_t local_memory;  ///< bytes that a work-group of any operation may use; the kernels check it

  // The classes of operations, as src/launch/operations.def names them.
  reduction_tuning reduction;
  streaming_tuning streaming;
  apply_tuning apply;
  rows_tuning rows;
  matrix_tuning matrix;
  blocks_tuning blocks;
  scalar_tuning scalar;
};

/// Calls `action(name, tuning)` for each class of a profile.
template <typename Profile, typename Action>
constexpr void for_each_class(Profile& tuned, Action action) {
  action("reduction", tuned.reduction);
  action("streaming", tuned.streaming);
  action("apply", tuned.apply);
  action("rows", tuned.rows);
  action("matrix", tuned.matrix);
  action("blocks", tuned.blocks);
  action("scalar", tuned.scalar);
}
// Fails if a class is missing above: the profile has its classes, 16 bytes of name, 8 bytes of predicate and 4 bytes of
// local memory, rounded up to the alignment of a pointer.
static_assert(sizeof(profile) == (28 + sizeof(reduction_tuning) + sizeof(streaming_tuning) + sizeof(apply_tuning) +
                                  sizeof(rows_tuning) + sizeof(matrix_tuning) + sizeof(blocks_tuning) +
                                  sizeof(scalar_tuning) + alignof(profile) - 1) /
                                     alignof(profile) * alignof(profile),
              "a class was added to `profile`: add it to for_each_class and to this sum");

/// A number of a class, by name.
struct tuning_number {
  std::string_view name;
  std::uint32_t value;
};

/// All numbers of a class, in the order of its members.
template <typename Tuning>
std::vector<tuning_number> numbers_of(const Tuning& tuning) {
  constexpr std::size_t count = std::size(Tuning::names);
  static_assert(sizeof(Tuning) == count * sizeof(std::uint32_t), "each member of a class has its name in `names`");
  const auto values = std::bit_cast<std::array<std::uint32_t, count>>(tuning);
  std::vector<tuning_number> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back({Tuning::names[i], values[i]});
  return numbers;
}

/// The size of sub-groups that a class asks for; 0 if the compiler chooses.
template <typename Tuning>
constexpr std::uint32_t sub_group_size_of(const Tuning& tuning) {
  if constexpr (requires { tuning.sub_group_size; }) {
    return tuning.sub_group_size;
  } else {
    return 0;
  }
}

/// The profile without the sizes of sub-groups that a device does not offer: a kernel that asks for them fails there.
inline profile with_offered_sub_groups(profile tuned, std::span<const std::size_t> offered) {
  for_each_class(tuned, [&](std::string_view, auto& tuning) {
    if constexpr (requires { tuning.sub_group_size; })
      if (std::ranges::find(offered, tuning.sub_group_size) == offered.end()) tuning.sub_group_size = 0;
  });
  return tuned;
}

/// The largest work-group of a profile.
constexpr std::uint32_t max_group_size(const profile& tuned) {
  std::uint32_t largest = 0;
  for_each_class(tuned, [&](std::string_view, const auto& tuning) { largest = std::max(largest, tuning.group_size); });
  return largest;
}

}  // namespace syclamp
