// SPDX-License-Identifier: Apache-2.0
// gemm_joint_fp16: the product of FP16 matrices with matrix units that multiply blocks of 16 × 16 × 16.
//
//   gemm_joint_fp16   one work-group per tile of C   A, B, C, bias → C
#pragma once

#include "sycl_kernels/matrix/joint_blocks.hpp"

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace syclamp::kernels {

template <blocks_tuning Tuning>
struct gemm_joint_fp16 : joint_product<sycl::half, 16, 16, 32, Tuning> {};

}  // namespace syclamp::kernels

#endif
