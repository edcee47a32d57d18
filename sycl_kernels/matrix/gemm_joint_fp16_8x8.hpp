// SPDX-License-Identifier: Apache-2.0
// gemm_joint_fp16_8x8: the product of FP16 matrices with matrix units that multiply blocks of 8 × 8 × 16.
//
//   gemm_joint_fp16_8x8   one work-group per tile of C   A, B, C, bias → C
#pragma once

#include "sycl_kernels/matrix/joint_blocks.hpp"

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace syclamp::kernels {

template <blocks_tuning Tuning>
struct gemm_joint_fp16_8x8 : joint_product<sycl::half, 8, 8, 16, Tuning> {};

}  // namespace syclamp::kernels

#endif
