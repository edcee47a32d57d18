// SPDX-License-Identifier: Apache-2.0
// SPIR-V modules inside the files that the compiler makes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syclamp::launch::jit {

/// The words of every SPIR-V module in `bytes`, with the zeros that may follow a module left out.
std::vector<std::vector<std::uint32_t>> spirv_modules(std::span<const char> bytes);

/// Part of the keys of kernels. Increase it when the output of `mark_vector_kernels` changes.
inline constexpr int mark_version = 1;

/// Tells the CPU's driver not to vectorize kernels whose work-groups are one work-item: their packs are vectors
/// already. Without the hint the driver also builds a version for many work-items, which takes most of its time and
/// never runs.
///
/// The hint is an execution mode (VecTypeHint) with a vector type. It changes no result, and other drivers ignore it.
/// It takes the place of debug names, so no offset in `bytes` changes. A module with too few names stays as it is.
/// \return how many kernels got the hint
std::size_t mark_vector_kernels(std::span<char> bytes);

}  // namespace syclamp::launch::jit
