// SPDX-License-Identifier: Apache-2.0
// gemm_joint_bf16_8x16: the product of BF16 matrices with matrix units that multiply blocks of 8 × 16 × 16.
//
//   gemm_joint_bf16_8x16   one work-group per tile of C   A, B, C, bias → C
#pragma once

#include "sycl_kernels/matrix/joint_blocks.hpp"

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace syclamp::kernels {

template <blocks_tuning Tuning>
struct gemm_joint_bf16_8x16 : joint_product<sycl::ext::oneapi::bfloat16, 8, 16, 32, Tuning> {};

}  // namespace syclamp::kernels

#endif
