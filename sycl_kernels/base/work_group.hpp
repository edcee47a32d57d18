// SPDX-License-Identifier: Apache-2.0
// Cooperation of the work-items of a group.
//
// Reductions are staged in local memory with barriers: group algorithms and sub-group shuffles are not in the portable
// subset (AdaptiveCpp's generic target aborts on them), and the fixed tree makes sums repeatable. Another way, for
// small values and devices with shuffles, is in group_reduction.hpp.
#pragma once

// DPC++ has its headers in parts, and parsing only these takes a third of the time: it counts at run time.
#if __has_include(<sycl/nd_item.hpp>) && __has_include(<sycl/group_barrier.hpp>)
#include <sycl/group_barrier.hpp>
#include <sycl/nd_item.hpp>
#else
#include <sycl/sycl.hpp>
#endif

#include <cstdint>

#include "sycl_kernels/shared/layout.hpp"

namespace syclamp::kernels {

/// A work-item as kernels see it. Its indices are queried once, because each query may be a call.
struct work_item {
  sycl::nd_item<1> item;
  std::uint32_t id;             ///< in its work-group
  std::uint32_t group, groups;  ///< number of its work-group, and how many there are

  explicit work_item(sycl::nd_item<1> item)
      : item(item),
        id(static_cast<std::uint32_t>(item.get_local_id(0))),
        group(static_cast<std::uint32_t>(item.get_group(0))),
        groups(static_cast<std::uint32_t>(item.get_group_range(0))) {}

  template <unsigned GroupSize>
  std::uint64_t global_id() const {
    return std::uint64_t{group} * GroupSize + id;
  }

  /// Waits until all work-items of the group are here.
  void barrier() const { sycl::group_barrier(item.get_group()); }
};

struct chunk_range {
  std::uint32_t begin, end;
};

/// The chunks that a work-group handles: an even share of all, next to each other, so that the group reads one stream.
inline chunk_range chunks_of_group(const work_item& item, std::uint32_t chunks) {
  const std::uint32_t group = item.group, groups = item.groups;
  const std::uint32_t share = chunks / groups, rest = chunks % groups;
  const std::uint32_t begin = group * share + (group < rest ? group : rest);
  return {begin, begin + share + (group < rest)};
}

/// Combines the values that the work-items of a group have put into `shared`, each into its own place, two by two with
/// `merge(T, T)` into one that all of them get.
template <unsigned GroupSize, typename T>
[[gnu::always_inline]] inline T reduce_over_group(const work_item& item, T* shared) {
  if constexpr (GroupSize == 1) {
    return shared[0];
  } else {
    const std::uint32_t id = item.id;
    for (std::uint32_t reach = GroupSize / 2; reach > 0; reach /= 2) {
      item.barrier();
      if (id < reach) shared[id] = merge(shared[id], shared[id + reach]);
    }
    item.barrier();
    const T result = shared[0];
    item.barrier();  // `shared` may be used again at once
    return result;
  }
}

template <unsigned GroupSize, typename T>
[[gnu::always_inline]] inline T reduce_over_group(const work_item& item, T* shared, const T& mine) {
  shared[item.id] = mine;
  return reduce_over_group<GroupSize>(item, shared);
}

}  // namespace syclamp::kernels
