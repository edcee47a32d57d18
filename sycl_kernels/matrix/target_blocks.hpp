// SPDX-License-Identifier: Apache-2.0
// Which blocks the compiler has for the target of this pass. An ahead-of-time build compiles every kernel for every
// target, and a compiler refuses blocks that its target does not have. Only this file may name targets.
//
//   host                     all shapes: joint_matrix is a placeholder there
//   SPIR-V                   all shapes: the device's driver compiles them, and may refuse
//   NVIDIA, sm_80 and later  16 × 16 × 16, for FP16 and BF16
//   NVIDIA before sm_80      none: FP16 and BF16 are used together, and there is no BF16
//   AMD                      none: DPC++ has blocks for gfx90a only, and they have not been verified
#pragma once

namespace syclamp::kernels {

#if !defined(__SYCL_DEVICE_ONLY__) || defined(__SPIR__) || defined(__SPIRV__)
template <unsigned Rows, unsigned Columns>
inline constexpr bool target_has_blocks = true;
#elif __has_builtin(__mma_bf16_m16n16k16_mma_f32)  // true only if the target has the instruction
template <unsigned Rows, unsigned Columns>
inline constexpr bool target_has_blocks = Rows == 16 && Columns == 16;
#else
template <unsigned Rows, unsigned Columns>
inline constexpr bool target_has_blocks = false;
#endif

/// For an ahead-of-time build, which checks that its device code has what its host code expects.
#if defined(__SYCL_DEVICE_ONLY__) && defined(__NVPTX__)
inline constexpr bool target_is_nvidia = true;
#else
inline constexpr bool target_is_nvidia = false;
#endif

}  // namespace syclamp::kernels
