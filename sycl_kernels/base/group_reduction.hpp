// SPDX-License-Identifier: Apache-2.0
// Reductions over a work-group, as a policy that the profile selects by its number `shuffle_width`.
//
//   local_memory_tree        a tree in local memory with a barrier per level; for every compiler and device
//   sub_group_tree<Width>    shuffles among `Width` neighbours of a sub-group, then local memory once
//
// Each policy has one fixed order, so that sums are repeatable. The order of `sub_group_tree` is the same for every
// size of sub-groups: work-item 2i with 2i + 1, then pairs with pairs, and so on. The width decides only which levels
// of this tree are shuffles.
#pragma once

#include <type_traits>

#include "sycl_kernels/base/work_group.hpp"

#if __has_include(<sycl/feature_test.hpp>)
#include <sycl/feature_test.hpp>
#endif

// AdaptiveCpp's generic target aborts on shuffles. Compilers that have them say so.
#ifdef SYCL_EXT_ONEAPI_SUB_GROUP
#include <sycl/group_algorithm.hpp>
#include <sycl/sub_group.hpp>
#endif

namespace syclamp::kernels {

struct local_memory_tree {
  template <unsigned GroupSize, typename T>
  [[gnu::always_inline]] static T reduce(const work_item& item, T* shared, const T& mine) {
    return reduce_over_group<GroupSize>(item, shared, mine);
  }
};

#ifdef SYCL_EXT_ONEAPI_SUB_GROUP

template <unsigned Width>
struct sub_group_tree {
  template <unsigned GroupSize, typename T>
  [[gnu::always_inline]] static T reduce(const work_item& item, T* shared, const T& mine) {
    constexpr unsigned width = Width < GroupSize ? Width : GroupSize, blocks = GroupSize / width;
    static_assert((width & (width - 1)) == 0 && GroupSize % width == 0);
    const sycl::sub_group neighbours = item.item.get_sub_group();
    // The same for all work-items of a kernel.
    if (neighbours.get_max_local_range()[0] % width != 0) return without_shuffles<GroupSize>(item, shared, mine);

    const T block = combine<width>(neighbours, mine);
    if constexpr (blocks == 1) {
      return block;
    } else {
      if (item.id % width == 0) shared[item.id / width] = block;
      item.barrier();
      // Each sub-group combines all blocks, so that no other barrier is needed until all have the result.
      constexpr unsigned per_item = blocks > width ? blocks / width : 1, items = blocks / per_item;
      const T all = combine<items>(neighbours, tree<per_item>(shared + item.id % items * per_item));
      item.barrier();  // `shared` may be used again at once
      return all;
    }
  }

 private:
  /// Each of `Count` neighbours gets all of their values combined.
  template <unsigned Count, typename T>
  [[gnu::always_inline]] static T combine(const sycl::sub_group& neighbours, T value) {
#pragma unroll
    for (unsigned reach = 1; reach < Count; reach *= 2)
      value = merge(value, sycl::permute_group_by_xor(neighbours, value, reach));
    return value;
  }

  template <unsigned Count, typename T>
  [[gnu::always_inline]] static T tree(const T* values) {
    if constexpr (Count == 1) {
      return *values;
    } else {
      return merge(tree<Count / 2>(values), tree<Count / 2>(values + Count / 2));
    }
  }

  /// The same order for sub-groups that are too small.
  template <unsigned GroupSize, typename T>
  [[gnu::always_inline]] static T without_shuffles(const work_item& item, T* shared, const T& mine) {
    shared[item.id] = mine;
#pragma nounroll
    for (std::uint32_t reach = 1; reach < GroupSize; reach *= 2) {
      item.barrier();
      const std::uint32_t place = item.id * 2 * reach;
      if (place < GroupSize) shared[place] = merge(shared[place], shared[place + reach]);
    }
    item.barrier();
    const T result = shared[0];
    item.barrier();  // `shared` may be used again at once
    return result;
  }
};

template <unsigned ShuffleWidth>
using group_reduction = std::conditional_t<ShuffleWidth == 1, local_memory_tree, sub_group_tree<ShuffleWidth>>;

#else

template <unsigned>
using group_reduction = local_memory_tree;

#endif

}  // namespace syclamp::kernels
