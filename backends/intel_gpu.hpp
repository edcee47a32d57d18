// SPDX-License-Identifier: Apache-2.0
// Intel GPUs (Xe). Never run on hardware: the sizes that torch-xpu-ops uses, to be measured.
#pragma once

#include "profile.hpp"

namespace syclamp::backends {

inline constexpr profile intel_gpu{
    .name = "intel_gpu",
    .inspect = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 16},
    .convert = {.pack_bytes = 16, .most_lanes = 4, .group_size = 512, .groups_per_unit = 8},
    .apply = {.pack_bytes = 16, .most_lanes = 4, .group_size = 512, .groups_per_unit = 8},
    .blocks = {.pack_bytes = 16, .most_lanes = 4, .group_size = 64, .groups_per_unit = 8},
    .matrix = {.pack_bytes = 16, .most_lanes = 4, .group_size = 256, .groups_per_unit = 8},
};

}  // namespace syclamp::backends
