// SPDX-License-Identifier: Apache-2.0
#include "tools/emulator/statistics.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace emulator {
namespace {

/// How many different blocks of `size` bytes an access touches.
std::uint64_t blocks_touched(const warp_access& access, std::uint64_t size) {
  std::array<std::uint64_t, std::size_t{2} * warp_size> blocks;
  std::size_t count = 0;
  for (lane_mask rest = access.active; rest != 0; rest &= rest - 1) {
    const std::uint64_t address = access.addresses[std::countr_zero(rest)];
    const std::uint64_t first = address / size, last = (address + access.bytes - 1) / size;
    if (count == 0 || blocks[count - 1] != first) blocks[count++] = first;
    if (last != first) blocks[count++] = last;
  }
  std::sort(blocks.begin(), blocks.begin() + count);
  return static_cast<std::uint64_t>(std::unique(blocks.begin(), blocks.begin() + count) - blocks.begin());
}

}  // namespace

std::uint32_t shared_cycles(const warp_access& access) {
  const std::uint32_t lanes_at_once = access.bytes >= 16 ? 8 : access.bytes >= 8 ? 16 : 32;
  std::uint32_t cycles = 0;
  for (std::uint32_t first = 0; first < warp_size; first += lanes_at_once) {
    std::uint64_t words[32][32];  // of each bank
    std::array<std::uint32_t, 32> counts{};
    for (std::uint32_t lane = first; lane < first + lanes_at_once; ++lane) {
      if ((access.active >> lane & 1) == 0) continue;
      for (std::uint64_t byte = 0; byte < access.bytes; byte += 4) {
        const std::uint64_t word = (access.addresses[lane] + byte) / 4, bank = word % 32;
        const auto end = words[bank] + counts[bank];
        if (std::find(words[bank], end, word) == end) words[bank][counts[bank]++] = word;
      }
    }
    const std::uint32_t most = *std::ranges::max_element(counts);
    cycles += most;
  }
  return cycles;
}

void kernel_statistics::count_global(const warp_access& access) {
  ++global_accesses;
  global_bytes += static_cast<std::uint64_t>(std::popcount(access.active)) * access.bytes;
  sectors += blocks_touched(access, 32);
  lines += blocks_touched(access, 128);
}

void kernel_statistics::count_shared(const warp_access& access) {
  ++shared_accesses;
  const std::uint32_t lanes_at_once = access.bytes >= 16 ? 8 : access.bytes >= 8 ? 16 : 32;
  std::uint32_t needed = 0;
  for (std::uint32_t first = 0; first < warp_size; first += lanes_at_once) {
    const lane_mask part = lanes_at_once == 32 ? ~lane_mask{0} : ((lane_mask{1} << lanes_at_once) - 1) << first;
    if ((access.active & part) != 0) ++needed;
  }
  bank_conflicts += shared_cycles(access) - needed;
}

kernel_statistics& kernel_statistics::operator+=(const kernel_statistics& other) {
  launches += other.launches;
  instructions += other.instructions;
  global_accesses += other.global_accesses;
  global_bytes += other.global_bytes;
  sectors += other.sectors;
  lines += other.lines;
  shared_accesses += other.shared_accesses;
  bank_conflicts += other.bank_conflicts;
  atomics += other.atomics;
  return *this;
}

}  // namespace emulator
