// SPDX-License-Identifier: Apache-2.0
// Integer counts that many work-items add to. Integer sums do not depend on the order, so results repeat.
//
// Uses clang's builtins instead of sycl::atomic_ref. With a libclc whose functions are not inlined, an atomic_ref
// operation is a call that tests its memory order at run time and costs a GPU 20 registers.
#pragma once

#include <cstdint>

namespace syclamp::kernels {

/// Adds to a count in local memory.
inline void add_in_group(std::uint32_t* count, std::uint32_t more) {
  __scoped_atomic_fetch_add(count, more, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
}

/// Sets bits of a word in global memory.
inline void or_in_device(std::uint32_t* word, std::uint32_t bits) {
  __scoped_atomic_fetch_or(word, bits, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/// Adds to a 64-bit count in global memory by 32-bit atomics, which every device has: the carry is added to the upper
/// half by the work-item that caused it. (The lower half comes first: every SYCL device is little-endian.)
inline void add_in_device(std::uint64_t* count, std::uint32_t more) {
  if (more == 0) return;
  auto* halves = reinterpret_cast<std::uint32_t*>(count);
  const std::uint32_t before = __scoped_atomic_fetch_add(&halves[0], more, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
  if (before + more < before) __scoped_atomic_fetch_add(&halves[1], 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/// Takes a ticket and returns the number of tickets taken before. The work-group with the last ticket may overwrite
/// data that the others have read.
inline std::uint32_t take_ticket(std::uint32_t* tickets) {
  return __scoped_atomic_fetch_add(tickets, 1u, __ATOMIC_ACQ_REL, __MEMORY_SCOPE_DEVICE);
}

}  // namespace syclamp::kernels
