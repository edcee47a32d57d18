// SPDX-License-Identifier: Apache-2.0
// gemm_joint_bf16: the product of BF16 matrices with matrix units.
//
//   gemm_joint_bf16   one work-group per tile of C   A, B, C, bias → C
#pragma once

#include "sycl_kernels/matrix/joint_blocks.hpp"

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace syclamp::kernels {

template <blocks_tuning Tuning>
struct gemm_joint_bf16 : tile_walk<block_multiplier<joint_blocks<sycl::ext::oneapi::bfloat16>, Tuning>,
                                   Tuning.max_lanes, Tuning.group_size> {};

}  // namespace syclamp::kernels

#endif
