// SPDX-License-Identifier: Apache-2.0
// Addresses that kernels read from tables.
//
// A pointer that is made of a number is generic: the compiler cannot know which memory it points to. GPUs have
// instructions for global memory that need fewer steps than those for generic addresses (ld.global on NVIDIA,
// global_load on AMD). All addresses in our tables are of global memory, USM of any kind.
#pragma once

#include <cstdint>

namespace syclamp::kernels {

/// The pointer to `address`, which must be in global memory. A compiler that knows no address spaces sees a plain cast.
template <typename T>
[[gnu::always_inline]] inline T* in_global_memory(std::uint64_t address) {
#if __has_attribute(opencl_global)
  return (T*)reinterpret_cast<__attribute__((opencl_global)) T*>(address);  // no other cast leaves an address space
#else
  return reinterpret_cast<T*>(address);
#endif
}

}  // namespace syclamp::kernels
