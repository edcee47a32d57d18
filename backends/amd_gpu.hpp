// SPDX-License-Identifier: Apache-2.0
// AMD GPUs, CDNA and RDNA. Never run on hardware: four waves of 64 to a group hide the latency of the reduction.
#pragma once

#include "profile.hpp"

namespace syclamp::backends {

inline constexpr profile amd_gpu{
    .name = "amd_gpu",
    .inspect = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
    .convert = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
    .apply = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
    .blocks = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
    .matrix = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
};

}  // namespace syclamp::backends
