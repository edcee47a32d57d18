// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs, sm_70 and later. Never run on hardware: what the assembler makes of it is in docs/gpu-code.md.
#pragma once

#include "profile.hpp"

namespace syclamp::backends {

inline constexpr profile nvidia_gpu{
    .name = "nvidia_gpu",
    .inspect = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
    .convert = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
    .apply = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
    .blocks = {.pack_bytes = 16, .most_lanes = 4, .group_size = 128, .groups_per_unit = 8},
    .matrix = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
};

}  // namespace syclamp::backends
