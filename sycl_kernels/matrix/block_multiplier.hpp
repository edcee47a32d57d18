// SPDX-License-Identifier: Apache-2.0
// How the tile of a work-group is divided when sub-groups multiply blocks, as matrix units do: a tile of 64 × 64 is
// four quarters of 32 × 32, one for each sub-group, and a quarter is four blocks of 16 × 16.
//
// The block multiplication is a parameter: matrix units (joint_blocks.hpp), or plain arithmetic (gemm_blocks.hpp),
// which tests this division on devices without matrix units.
#pragma once

#include "sycl_kernels/walk/tile.hpp"

namespace syclamp::kernels {

inline constexpr unsigned block_size = 16;

/// `Blocks` has sums of a quarter's blocks, and
///   clear(item)
///   add(item, a, a_stride, b, b_stride)   a: 32 × 16, b: 16 × 32 numbers of 16 bits
///   store(item, c, c_stride)              c: 32 × 32
template <typename Blocks, blocks_tuning Tuning>
class block_multiplier {
 public:
  using as = as_bits;
  static constexpr unsigned tile_rows = tile_of(Tuning).rows, tile_columns = tile_of(Tuning).columns;
  static constexpr unsigned depth = Tuning.tile_depth;
  // Rows begin in different banks of local memory, at multiples of 16 bytes, as matrix units require.
  static constexpr unsigned a_stride = depth + 8, b_stride = tile_columns + 8, c_stride = tile_columns + 4;
  static_assert(tile_rows == 64 && tile_columns == 64 && depth % block_size == 0 && Tuning.group_size % 4 == 0);

  [[gnu::always_inline]] explicit block_multiplier(const work_item& item) { blocks_.clear(item); }

  [[gnu::always_inline]] void add(const work_item& item, const std::uint16_t* a, const std::uint16_t* b) {
#pragma unroll
    for (unsigned k = 0; k < depth; k += block_size)
      blocks_.add(item, a + row(item) * a_stride + k, a_stride, b + k * b_stride + column(item), b_stride);
  }

  [[gnu::always_inline]] void store(const work_item& item, float* c) {
    blocks_.store(item, c + row(item) * c_stride + column(item), c_stride);
  }

 private:
  static std::uint32_t quarter(const work_item& item) { return item.id / (Tuning.group_size / 4); }
  static std::uint32_t row(const work_item& item) { return quarter(item) / 2 * 32; }
  static std::uint32_t column(const work_item& item) { return quarter(item) % 2 * 32; }

  Blocks blocks_;
};

}  // namespace syclamp::kernels
