// SPDX-License-Identifier: Apache-2.0
// Which addresses tensors occupy, sorted, so that overlaps are found in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// The addresses that a tensor occupies, the end not included.
struct memory_extent {
  std::uint64_t begin, end;
  std::uint32_t index;  ///< of the tensor
};

/// Sorts by where extents begin: in one pass if they are sorted already, else by digits, which takes a few passes.
void sort_extents(std::vector<memory_extent>& extents);

/// The extents of tensors at `addresses`, sorted; those that are absent or have no bytes are left out.
void sorted_extents(std::span<const std::uint64_t> addresses, std::span<const std::uint64_t> bytes,
                    std::vector<memory_extent>& extents);

/// A pair of extents that overlap; null if none do.
struct overlap {
  const memory_extent *first = nullptr, *second = nullptr;
  explicit operator bool() const { return first != nullptr; }
};

/// The first two of `extents`, which are sorted, that overlap each other.
overlap overlap_within(std::span<const memory_extent> extents);

/// The first extent of `one` that overlaps an extent of `other`. Both are sorted; no two extents of `other` overlap.
overlap overlap_between(std::span<const memory_extent> first, std::span<const memory_extent> other);

}  // namespace SYCLAMP_NAMESPACE
