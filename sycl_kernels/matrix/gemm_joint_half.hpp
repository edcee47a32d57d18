// SPDX-License-Identifier: Apache-2.0
// gemm_joint_half: the product of FP16 matrices with matrix units.
//
//   gemm_joint_half   a work-group a tile of C   A, B, C, bias → C
#pragma once

#include "sycl_kernels/matrix/joint_blocks.hpp"

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace syclamp::kernels {

template <unsigned PackBytes, unsigned MostLanes, unsigned GroupSize>
struct gemm_joint_half : tile_walk<block_multiplier<joint_blocks<sycl::half>, GroupSize>, MostLanes, GroupSize> {};

}  // namespace syclamp::kernels

#endif
