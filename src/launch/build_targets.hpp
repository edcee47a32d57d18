// SPDX-License-Identifier: Apache-2.0
// What follows from the targets of an ahead-of-time build. Host code cannot see what a compiler has made for a device.
#pragma once

#include <algorithm>
#include <string_view>

namespace syclamp::launch {

/// Whether kernels for matrix units have blocks in all code for NVIDIA GPUs. They need sm_80, and DPC++'s own default
/// is older. `targets` is the CMake option SYCLAMP_SYCL_TARGETS: names with commas between them.
constexpr bool has_nvidia_blocks(std::string_view targets) {
  constexpr std::string_view numbered = "nvidia_gpu_sm_", unnumbered = "nvptx";
  bool found = false;
  while (!targets.empty()) {
    const std::string_view target = targets.substr(0, targets.find(','));
    targets.remove_prefix(std::min(target.size() + 1, targets.size()));
    if (target.starts_with(unnumbered)) return false;
    if (!target.starts_with(numbered)) continue;
    int number = 0;
    for (const char digit : target.substr(numbered.size()))
      if (digit >= '0' && digit <= '9') number = number * 10 + (digit - '0');
    if (number < 80) return false;
    found = true;
  }
  return found;
}

}  // namespace syclamp::launch
