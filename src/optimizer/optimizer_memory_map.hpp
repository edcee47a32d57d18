// SPDX-License-Identifier: Apache-2.0
// The memory that an optimizer writes. Finds tensors that overlap it.
//
// A step writes weights, their copies and moments; unscaling writes shadows. None of them may overlap another one or a
// gradient. Two may be the same: a model in FP32 is its own master, and parameters may share a gradient.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sycl_kernels/shared/optimizer_layout.hpp"
#include "syclamp/export.hpp"
#include "syclamp/fused_optimizer.hpp"
#include "tensors/memory_extents.hpp"

namespace SYCLAMP_NAMESPACE {

/// Views; valid as long as the optimizer.
struct memory_parts {
  std::span<const parameter> parameters;
  std::span<const kernels::parameter_slot> slots;  ///< one per parameter
  storage_options storage;
  std::uint32_t states;               ///< moments of a parameter
  memory_extent arena, arena_shadow;  ///< the library's own memory: weights and moments, shadows
  std::span<const void* const> shadows;
};

class optimizer_memory_map {
 public:
  optimizer_memory_map() = default;
  explicit optimizer_memory_map(const memory_parts& parts);

  /// \throws invalid_argument that names two tensors that are written and overlap
  void check_within() const;

  /// True if the list was checked with its present addresses.
  bool has_seen(const tensor_list& gradients) const;

  /// Checks again only if the list's addresses have changed since the last check.
  /// \param are_own  these are the optimizer's gradients, which may not lie on shadows, either
  /// \throws invalid_argument that names a gradient and what it overlaps
  void check_gradients(const tensor_list& gradients, bool are_own);

 private:
  std::string part_at(std::uint64_t begin, std::uint64_t end) const;

  struct seen_list {
    std::uint64_t id = 0, version = 0;  ///< versions begin at 1
  };

  memory_parts parts_ = {};
  std::vector<memory_extent> written_;              ///< sorted; the library's own memory is one of them
  std::vector<memory_extent> written_and_shadows_;  ///< likewise
  std::array<seen_list, 4> good_ = {};              ///< lists that were found not to overlap
  std::size_t next_good_ = 0;
};

}  // namespace SYCLAMP_NAMESPACE
