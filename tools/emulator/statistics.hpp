// SPDX-License-Identifier: Apache-2.0
// What the memory accesses of a kernel would cost a GPU: sectors, cache lines, bank conflicts. Counted, not timed.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tools/emulator/program.hpp"

namespace emulator {

/// The addresses of one access by a warp; bit i of `active` says whether lane i takes part.
struct warp_access {
  const std::uint64_t* addresses;
  lane_mask active;
  std::uint32_t bytes;  ///< of each lane
};

struct kernel_statistics {
  std::uint64_t launches = 0, instructions = 0;
  std::uint64_t global_accesses = 0, global_bytes = 0;  ///< of warps; bytes that lanes asked for
  std::uint64_t sectors = 0, lines = 0;                 ///< of 32 and 128 bytes, counted for each access of a warp
  std::uint64_t shared_accesses = 0;
  std::uint64_t bank_conflicts = 0;  ///< cycles beyond those that an access without conflicts takes
  std::uint64_t atomics = 0;

  void count_global(const warp_access& access);
  void count_shared(const warp_access& access);
  kernel_statistics& operator+=(const kernel_statistics& other);
};

/// Cycles that shared memory needs: 32 banks of 4 bytes; half a warp at a time for 8 bytes, a quarter for 16.
std::uint32_t shared_cycles(const warp_access& access);

}  // namespace emulator
