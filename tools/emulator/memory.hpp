// SPDX-License-Identifier: Apache-2.0
// Every access to memory goes through here, where it is checked.
#pragma once

#include <cstdint>

#include "tools/emulator/access_log.hpp"
#include "tools/emulator/machine.hpp"

namespace emulator {

/// The bytes at an address, after all checks: alignment, bounds, uninitialised memory, races.
std::uint8_t* checked_memory(warp& self, const instruction& what, std::uint32_t lane, std::uint64_t address,
                             std::uint32_t bytes, std::uint32_t alignment, access_kind kind);

/// Counts an access of a warp for the statistics.
void count_access(warp& self, const instruction& what, const warp_access& access);

}  // namespace emulator
