// SPDX-License-Identifier: Apache-2.0
// Which blocks the compiler has for the target of this pass. An ahead-of-time build compiles every kernel for every
// target, and a compiler refuses blocks that its target does not have. Only this file may name targets.
//
//   host                     all shapes: host code with joint_matrix compiles, but is never called
//   SPIR-V                   all shapes: the device's driver compiles them, and may refuse
//   NVIDIA                   16 × 16 × 16: FP16 on all targets of DPC++, BF16 from sm_80 on
//   AMD                      none. DPC++ 2026.2 has blocks for gfx90a only, and they are wrong for our kernels
//                            (sycl/ext/oneapi/matrix/matrix-hip.hpp): a block of A in rows is loaded as if it were in
//                            columns, and lanes are numbered through the whole work-group, so only its first sub-group
//                            accesses its own blocks. Our work-groups have four. On other targets the multiplication
//                            does nothing.
#pragma once

#include <sycl/sycl.hpp>

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace syclamp::kernels {

#if !defined(__SYCL_DEVICE_ONLY__) || defined(__SPIR__) || defined(__SPIRV__)
template <typename Number, unsigned Rows, unsigned Columns>
inline constexpr bool target_has_blocks = true;
#else
template <typename Number, unsigned Rows, unsigned Columns>
inline constexpr bool target_has_blocks = false;
// A builtin is there only if the target has its instruction.
#if __has_builtin(__hmma_m16n16k16_mma_f32f32)
template <>
inline constexpr bool target_has_blocks<sycl::half, 16, 16> = true;
#endif
#if __has_builtin(__mma_bf16_m16n16k16_mma_f32)
template <>
inline constexpr bool target_has_blocks<sycl::ext::oneapi::bfloat16, 16, 16> = true;
#endif
#endif

/// For an ahead-of-time build, which checks that its device code has what its host code expects.
#if defined(__SYCL_DEVICE_ONLY__) && defined(__NVPTX__)
inline constexpr bool target_is_nvidia = true;
#else
inline constexpr bool target_is_nvidia = false;
#endif

}  // namespace syclamp::kernels

#endif
