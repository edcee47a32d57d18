// SPDX-License-Identifier: Apache-2.0
// All profiles, and which one a device gets. To add one: a file beside this one and its line below
// (docs/adding-a-backend.md).
#pragma once

#include <array>

#include "backends/profile.hpp"

namespace syclamp::backends {

/// The first one that matches a device is used. The last one matches all devices.
// clang-format off
inline constexpr auto profiles = std::to_array<profile>({
#include "backends/cpu.inc"
#include "backends/intel_xe_hpg.inc"
#include "backends/intel_gpu.inc"
#include "backends/nvidia_gpu.inc"
#include "backends/amd_rdna.inc"
#include "backends/amd_gpu.inc"
#include "backends/generic.inc"
});
// clang-format on
static_assert(profiles.back().matches({}), "there must be a profile for every device");

constexpr const profile& choose(const device_facts& device) {
  return *std::find_if(profiles.begin(), profiles.end(), [&](const profile& tuned) { return tuned.matches(device); });
}

/// Null if there is none of that name.
constexpr const profile* find(std::string_view name) {
  const auto found =
      std::find_if(profiles.begin(), profiles.end(), [&](const profile& tuned) { return tuned.name == name; });
  return found != profiles.end() ? &*found : nullptr;
}

}  // namespace syclamp::backends
