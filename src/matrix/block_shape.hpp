// SPDX-License-Identifier: Apache-2.0
// Chooses the shape of blocks that a device's matrix units multiply. sycl_kernels/matrix/ has a kernel for each shape.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

#include "launch/operations.hpp"
#include "syclamp/element_type.hpp"

namespace SYCLAMP_NAMESPACE::matrix {

/// Blocks of `rows` × 16 and 16 × `columns` numbers, and the kernels that multiply them.
struct block_shape {
  std::uint32_t rows, columns;
  const launch::matrix_unit_operation *fp16, *bf16;
};

/// The preferred ones first: large blocks need fewer loads per product.
inline constexpr std::array block_shapes{
    block_shape{16, 16, &launch::gemm_joint_fp16, &launch::gemm_joint_bf16},
    block_shape{8, 16, &launch::gemm_joint_fp16_8x16, &launch::gemm_joint_bf16_8x16},
    block_shape{8, 8, &launch::gemm_joint_fp16_8x8, &launch::gemm_joint_bf16_8x8}};

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

/// The shape for a device that offers these shapes and sizes of sub-groups, and for the kernels of a profile. Null if
/// there is none. FP16 and BF16 have the same shape. Kernels for blocks of fewer rows than the profile's
/// `min_block_rows` are empty.
constexpr const block_shape* choose_block_shape(std::span<const offered_shape> offered,
                                                std::span<const std::size_t> sub_group_sizes, const profile& tuning) {
  const auto multiplies = [&](element_type type, const block_shape& shape) {
    return std::ranges::any_of(offered,
                               [&](const offered_shape& one) { return one.type == type && one.includes(shape); });
  };
  // Of the smallest size only: on Xe-HPC and Xe2, Intel's compiler refuses blocks for sub-groups of 32.
  const auto has_sub_groups = [&](const launch::operation_base& op) {
    return !sub_group_sizes.empty() && std::ranges::min(sub_group_sizes) == op.sub_group_size(tuning);
  };
  const auto found = std::ranges::find_if(block_shapes, [&](const block_shape& shape) {
    return shape.rows >= tuning.blocks.min_block_rows && multiplies(element_type::float16, shape) &&
           multiplies(element_type::bfloat16, shape) && has_sub_groups(*shape.fp16) && has_sub_groups(*shape.bf16);
  });
  return found == block_shapes.end() ? nullptr : &*found;
}

}  // namespace SYCLAMP_NAMESPACE::matrix
