// SPDX-License-Identifier: Apache-2.0
// Integer counts that work-items of all groups add to. Integer sums do not depend on the order, so results repeat.
#pragma once

// DPC++ has its headers in parts, and parsing only these takes a third of the time: it counts at run time.
#if __has_include(<sycl/atomic_ref.hpp>)
#include <sycl/atomic_ref.hpp>
#else
#include <sycl/sycl.hpp>
#endif

#include <cstdint>

namespace syclamp::kernels {

using global_word = sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::device,
                                     sycl::access::address_space::global_space>;
using local_word = sycl::atomic_ref<std::uint32_t, sycl::memory_order::relaxed, sycl::memory_scope::work_group,
                                    sycl::access::address_space::local_space>;

/// Adds to a 64-bit count in global memory by 32-bit atomics, which every device has: the carry is added to the upper
/// half by whoever caused it. (The lower half comes first: every SYCL device is little-endian.)
inline void add_to_count(std::uint64_t* count, std::uint32_t more) {
  if (more == 0) return;
  auto* halves = reinterpret_cast<std::uint32_t*>(count);
  const std::uint32_t before = global_word(halves[0]).fetch_add(more);
  if (before + more < before) global_word(halves[1]).fetch_add(1u);
}

}  // namespace syclamp::kernels
