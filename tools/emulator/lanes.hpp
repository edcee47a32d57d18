// SPDX-License-Identifier: Apache-2.0
// Registers are 64 bits wide and hold the bits of values of any type, zero-extended.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "tools/emulator/program.hpp"

namespace emulator {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f16 = _Float16;
using f32 = float;

template <typename T>
T from_bits(u64 bits) {
  if constexpr (std::is_same_v<T, bool>) {
    return bits != 0;
  } else {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
}

template <typename T>
u64 to_bits(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? 1 : 0;
  } else {
    u64 bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
}

/// Calls `action` with each lane of `active`.
template <typename Action>
void for_lanes(lane_mask active, Action&& action) {
  if (active == ~lane_mask{0}) {
    for (u32 lane = 0; lane < warp_size; ++lane) action(lane);
  } else {
    for (; active != 0; active &= active - 1) action(static_cast<u32>(std::countr_zero(active)));
  }
}

}  // namespace emulator
