// SPDX-License-Identifier: Apache-2.0
// Any other device: modest groups that every SYCL device accepts.
#pragma once

#include "profile.hpp"

namespace syclamp::backends {

inline constexpr profile generic{
    .name = "generic",
    .inspect = {.pack_bytes = 16, .most_lanes = 4, .group_size = 64, .groups_per_unit = 16},
    .convert = {.pack_bytes = 16, .most_lanes = 4, .group_size = 64, .groups_per_unit = 16},
    .apply = {.pack_bytes = 16, .most_lanes = 4, .group_size = 64, .groups_per_unit = 16},
    .blocks = {.pack_bytes = 16, .most_lanes = 4, .group_size = 128, .groups_per_unit = 8},
    .matrix = {.pack_bytes = 16, .most_lanes = 4, .group_size = 64, .groups_per_unit = 8},
};

}  // namespace syclamp::backends
