// SPDX-License-Identifier: Apache-2.0
// How the tile of a work-group is divided when sub-groups multiply blocks, as matrix units do: each sub-group makes a
// part of the tile of 64 × 64. A part has 32 rows and 16 or 32 columns. Sub-groups of 8 work-items have too few
// registers for 32 columns.
//
// The block multiplication is a parameter: matrix units (joint_blocks.hpp), or plain arithmetic (gemm_blocks.hpp),
// which tests this division on devices without matrix units.
#pragma once

#include "sycl_kernels/walk/tile.hpp"

namespace syclamp::kernels {

inline constexpr unsigned part_rows = 32;
inline constexpr unsigned block_depth = 16;  // the inner dimension of all blocks

/// `Blocks` has `part_columns`, sums of a part, and
///   clear(item)
///   add(item, a, a_stride, b, b_stride)   a: 32 × 16, b: 16 × part_columns numbers of 16 bits
///   store(item, c, c_stride)              c: 32 × part_columns
template <typename Blocks, blocks_tuning Tuning>
class block_multiplier {
 public:
  using as = as_bits;
  static constexpr unsigned tile_rows = tile_of(Tuning).rows, tile_columns = tile_of(Tuning).columns;
  static constexpr unsigned depth = Tuning.tile_depth, buffers = Tuning.buffers;
  // Rows begin in different banks of local memory, at multiples of 16 bytes, as matrix units require.
  static constexpr unsigned a_stride = depth + 8, b_stride = tile_columns + 8, c_stride = tile_columns + 4;
  static constexpr unsigned across = tile_columns / Blocks::part_columns, parts = tile_rows / part_rows * across;
  static_assert(tile_rows == 64 && tile_columns == 64 && depth % block_depth == 0 && Tuning.group_size % parts == 0);

  [[gnu::always_inline]] explicit block_multiplier(const work_item& item) { blocks_.clear(item); }

  [[gnu::always_inline]] void add(const work_item& item, const std::uint16_t* a, const std::uint16_t* b) {
#pragma unroll
    for (unsigned k = 0; k < depth; k += block_depth)
      blocks_.add(item, a + row(item) * a_stride + k, a_stride, b + k * b_stride + column(item), b_stride);
  }

  [[gnu::always_inline]] void store(const work_item& item, float* c) {
    blocks_.store(item, c + row(item) * c_stride + column(item), c_stride);
  }

 private:
  static std::uint32_t part(const work_item& item) { return item.id / (Tuning.group_size / parts); }
  static std::uint32_t row(const work_item& item) { return part(item) / across * part_rows; }
  static std::uint32_t column(const work_item& item) { return part(item) % across * Blocks::part_columns; }

  Blocks blocks_;
};

}  // namespace syclamp::kernels
