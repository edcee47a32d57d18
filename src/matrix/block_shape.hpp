// SPDX-License-Identifier: Apache-2.0
// Chooses the shape of blocks that a device's matrix units multiply. sycl_kernels/matrix/ has a kernel for each shape.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

#include "syclamp/element_type.hpp"

namespace SYCLAMP_NAMESPACE::matrix {

/// Blocks of `rows` × 16 and 16 × `columns` numbers. A work-group has `sub_groups` sub-groups, see
/// block_multiplier.hpp.
struct block_shape {
  std::uint32_t rows, columns, sub_groups;
};

/// The preferred ones first: large blocks need fewer loads per product.
inline constexpr std::array block_shapes{block_shape{16, 16, 4}, block_shape{8, 16, 4}, block_shape{8, 8, 8}};

/// A shape that a device offers for a type, with sums in FP32. A size of 0 means any size up to the maximum.
struct offered_shape {
  element_type type;
  std::size_t rows, columns, depth;
  std::size_t max_rows, max_columns, max_depth;

  constexpr bool includes(const block_shape& shape) const {
    const auto has = [](std::size_t size, std::size_t exact, std::size_t max) {
      return exact == size || (exact == 0 && max >= size);
    };
    return has(shape.rows, rows, max_rows) && has(shape.columns, columns, max_columns) && has(16, depth, max_depth);
  }
};

/// The shape for a device that offers these shapes and sizes of sub-groups, and for work-groups of this size. Null if
/// there is none. FP16 and BF16 have the same shape. With a profile, kernels for blocks of fewer than `min_rows` rows
/// are empty.
constexpr const block_shape* choose_block_shape(std::span<const offered_shape> offered,
                                                std::span<const std::size_t> sub_group_sizes, std::size_t group_size,
                                                std::size_t min_rows) {
  const auto multiplies = [&](element_type type, const block_shape& shape) {
    return std::ranges::any_of(offered,
                               [&](const offered_shape& one) { return one.type == type && one.includes(shape); });
  };
  const auto found = std::ranges::find_if(block_shapes, [&](const block_shape& shape) {
    return shape.rows >= min_rows && multiplies(element_type::float16, shape) &&
           multiplies(element_type::bfloat16, shape) &&
           std::ranges::find(sub_group_sizes, group_size / shape.sub_groups) != sub_group_sizes.end();
  });
  return found == block_shapes.end() ? nullptr : &*found;
}

}  // namespace SYCLAMP_NAMESPACE::matrix
