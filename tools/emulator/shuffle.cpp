// SPDX-License-Identifier: Apache-2.0
// shfl: lanes of a warp read registers of each other. The warp has already waited for all lanes of the mask.
#include <string>

#include "tools/emulator/lanes.hpp"
#include "tools/emulator/machine.hpp"

namespace emulator {
namespace {

/// Each lane reads the lane whose number differs in the bits of the third operand, or itself beyond its segment.
void exchange(warp& self, const instruction& what, lane_mask active) {
  const u64 *values = self.values(what.reads[0]), *bits = self.values(what.reads[1]),
            *limits = self.values(what.reads[2]);
  u64 result[warp_size] = {};
  for_lanes(active, [&](u32 lane) {
    const u32 clamp = static_cast<u32>(limits[lane]) & 31, segment = static_cast<u32>(limits[lane]) >> 8 & 31;
    const u32 last = (lane & segment) | (clamp & ~segment);
    const u32 other = lane ^ (static_cast<u32>(bits[lane]) & 31), source = other <= last ? other : lane;
    if ((active >> source & 1) == 0)
      self.fail(fault_kind::missing_lanes, what, lane, "lane " + std::to_string(source) + " is read and takes no part");
    result[lane] = values[source];
  });
  for_lanes(active, [&](u32 lane) { self.values(what.writes[0])[lane] = result[lane]; });
}

}  // namespace

executor find_shuffle(std::string_view name) { return name == "shfl.sync.bfly.b32" ? exchange : nullptr; }

}  // namespace emulator
