// SPDX-License-Identifier: Apache-2.0
// CPUs, through DPC++'s OpenCL driver or AdaptiveCpp's OpenMP.
#pragma once

#include "profile.hpp"

namespace syclamp::backends {

inline constexpr profile cpu{
    .name = "cpu",
    // AMD EPYC (Zen 4, AVX2), 2 cores, DPC++ 2026.2, 2026-11-16, inspect of 2^25 FP16 against a native read in the same
    // run:
    //   pack_bytes 32: 22, 64: 30, 128: 18 GB/s on one core from cache (fewer accumulators than the latency of an FMA
    //   wants; just right; more than there are registers)
    //   groups_per_unit 1: 0.76-0.93, 4 to 32: 0.91-1.0, one group a chunk: 0.86-0.87
    .inspect = {.pack_bytes = 64, .most_lanes = 32, .group_size = 1, .groups_per_unit = 16},
    // The same machine and day, scale of 2^25 BF16 in place: pack_bytes 64: 0.32, 32: 0.36-0.40 of native; other types
    // alike.
    .convert = {.pack_bytes = 64, .most_lanes = 16, .group_size = 1, .groups_per_unit = 16},
};

}  // namespace syclamp::backends
