// SPDX-License-Identifier: Apache-2.0
// CPUs, through DPC++'s OpenCL driver or AdaptiveCpp's OpenMP.
#pragma once

#include "profile.hpp"

namespace syclamp::backends {

inline constexpr profile cpu{
    .name = "cpu",
    // AMD EPYC (Zen 4; the driver compiles to AVX-512), 2 cores, DPC++ 2026.2, 2026-11-16, inspect of 2^25 elements
    // against a native read in the same run:
    //   pack_bytes 32: 22, 64: 30, 128: 18 GB/s on one core from cache (fewer accumulators than the latency of an FMA
    //   wants; just right; more than there are registers); most_lanes 32 is what 64 bytes hold of a 16-bit type
    //   groups_per_unit 16: 0.87-0.95, 32: 0.89-0.93, 64: 0.87-1.0, 128: 0.85-0.94 with FP16 and BF16; FP32 0.95-1.0
    .inspect = {.pack_bytes = 64, .most_lanes = 32, .group_size = 1, .groups_per_unit = 32},
    // The same machine and day: a pack of 16 lanes is one register of FP32. Casts reach 0.96-0.98 of a native loop.
    .convert = {.pack_bytes = 64, .most_lanes = 16, .group_size = 1, .groups_per_unit = 16},
    // A whole step of AdamW with FP16 against a native loop: groups_per_unit 16: 1.00, 32: 0.99, 64: 0.99, 128: 0.99,
    // 512: 0.98, each the mean of two runs that lie up to 0.02 apart: no difference.
    .apply = {.pack_bytes = 64, .most_lanes = 16, .group_size = 1, .groups_per_unit = 16},
    // No CPU has matrix units that joint_matrix reaches here: for tests.
    .blocks = {.pack_bytes = 16, .most_lanes = 4, .group_size = 64, .groups_per_unit = 8},
    // The same machine and day, shared with others, hence by CPU time: GFLOP in a second of one core, 1024³, against
    // oneMKL in the same run: FP32 73 (87), with a transpose 63-66 (90), FP16 to FP32 55 (80), BF16 56 (89); 4096 × 256
    // × 256: 59-79 (62-73). A pack of 16 lanes and four rows are eight sums in registers, as many as FMAs are under
    // way.
    .matrix = {.pack_bytes = 64, .most_lanes = 16, .group_size = 1, .groups_per_unit = 16},
};

}  // namespace syclamp::backends
