// SPDX-License-Identifier: Apache-2.0
// What the work-items of a group do together.
//
// Reductions are staged in local memory with barriers: group algorithms and sub-group shuffles are not in the portable
// subset (AdaptiveCpp's generic target aborts on them), and the fixed tree makes sums repeatable.
#pragma once

// DPC++ has its headers in parts, and parsing only these takes a third of the time: it counts at run time.
#if __has_include(<sycl/nd_item.hpp>) && __has_include(<sycl/group_barrier.hpp>)
#include <sycl/group_barrier.hpp>
#include <sycl/nd_item.hpp>
#else
#include <sycl/sycl.hpp>
#endif

#include <cstdint>

#include "layout.hpp"

namespace syclamp::kernels {

struct chunk_range {
  std::uint64_t begin, end;
};

/// The chunks that a work-group handles: an even share of all, next to each other, so that the group reads one stream.
inline chunk_range chunks_of_group(sycl::nd_item<1> item, std::uint64_t chunks) {
  const std::uint64_t group = item.get_group(0), groups = item.get_group_range(0);
  const std::uint64_t share = chunks / groups, rest = chunks % groups;
  const std::uint64_t begin = group * share + (group < rest ? group : rest);
  return {begin, begin + share + (group < rest)};
}

/// Combines one value of each work-item, two by two with `merge(T, T)`, into one that all of them get. `shared` has
/// room for one value a work-item.
template <unsigned GroupSize, typename T>
inline T reduce_over_group(sycl::nd_item<1> item, T* shared, T mine) {
  if constexpr (GroupSize == 1) {
    return mine;
  } else {
    const auto id = static_cast<std::uint32_t>(item.get_local_id(0));
    shared[id] = mine;
    for (std::uint32_t reach = GroupSize / 2; reach > 0; reach /= 2) {
      sycl::group_barrier(item.get_group());
      if (id < reach) shared[id] = merge(shared[id], shared[id + reach]);
    }
    sycl::group_barrier(item.get_group());
    const T result = shared[0];
    sycl::group_barrier(item.get_group());  // `shared` may be used again at once
    return result;
  }
}

}  // namespace syclamp::kernels
