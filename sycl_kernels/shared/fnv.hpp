// SPDX-License-Identifier: Apache-2.0
// FNV-1a, the checksum of files and of records that the host reads while a kernel writes them. It guards against
// accidents, not against malice: a change of one part always changes the sum.
#pragma once

#include <cstdint>

namespace syclamp::kernels {

inline constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325u;

/// The sum after one more part: a byte of a file, or a word of a record.
constexpr std::uint64_t fnv_sum(std::uint64_t sum, std::uint32_t part) { return (sum ^ part) * 0x100000001b3u; }

}  // namespace syclamp::kernels
