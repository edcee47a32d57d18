// SPDX-License-Identifier: Apache-2.0
// gemm: matrix products on every device, of any of FP16, BF16 and FP32, in FP32.
//
//   gemm_tiles   one work-group per tile of C   A, B, C, bias → C
//
// Each element of C is summed up in the order of the inner dimension, whatever the profile: same bits on all of them.
#pragma once

#include "sycl_kernels/walk/tile.hpp"

namespace syclamp::kernels {

/// Multiplies packs in registers. A part is some rows of one pack; a work-item has one of them, which stays in
/// registers, or, in small groups, several.
template <matrix_tuning Tuning>
class pack_multiplier {
 public:
  using as = as_float;
  static constexpr unsigned max_lanes = Tuning.max_lanes, group_size = Tuning.group_size;
  static constexpr unsigned tile_rows = Tuning.tile_rows, tile_columns = Tuning.tile_columns, depth = Tuning.tile_depth;
  // Elements become FP32 as they are loaded, so a work-item would wait for them at once: a second buffer hides nothing.
  static constexpr unsigned buffers = 1;
  // If a work-group has several work-items, rows must begin in different banks of local memory. One extra element per
  // row is enough, so it is not tuned.
  static constexpr unsigned a_stride = depth + (group_size == 1 ? 0 : 1), b_stride = tile_columns;
  static constexpr unsigned c_stride = tile_columns;

  [[gnu::always_inline]] explicit pack_multiplier(const work_item&) {}

  [[gnu::always_inline]] void add(const work_item& item, const float* a, const float* b) {
    for_each_part(item, [&](pack<float, max_lanes>* sums, std::uint32_t row,
                            std::uint32_t column) __attribute__((always_inline)) {
      pack<float, max_lanes> sum[rows];
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) sum[r] = sums[r];
      for (unsigned k = 0; k < depth; ++k) {
        const auto line = local_packs<float, max_lanes, b_stride, group_size>::load(b + k * b_stride + column);
#pragma unroll
        for (unsigned r = 0; r < rows; ++r)
          sum[r] = __builtin_elementwise_fma(pack<float, max_lanes>(a[(row + r) * a_stride + k]), line, sum[r]);
      }
#pragma unroll
      for (unsigned r = 0; r < rows; ++r) sums[r] = sum[r];
    });
  }

  [[gnu::always_inline]] void store(const work_item& item, float* c) {
    for_each_part(item, [&](pack<float, max_lanes>* sums, std::uint32_t row,
                            std::uint32_t column) __attribute__((always_inline)) {
#pragma unroll
      for (unsigned r = 0; r < rows; ++r)
        local_packs<float, max_lanes, c_stride, group_size>::store(c + (row + r) * c_stride + column, sums[r]);
    });
  }

 private:
  static constexpr unsigned rows = Tuning.rows_per_item, across = tile_columns / max_lanes;
  static constexpr unsigned parts = tile_rows / rows * across / group_size;  // of a work-item
  static_assert(parts >= 1, "a work-group larger than its tile");

  template <typename Action>
  [[gnu::always_inline]] void for_each_part(const work_item& item, Action action) {
    const auto part = [&](unsigned i) __attribute__((always_inline)) {
      const std::uint32_t index = item.id + i * group_size;
      action(sums_[i], index / across * rows, index % across * max_lanes);
    };
    if constexpr (parts <= 4) {
#pragma unroll
      for (unsigned i = 0; i < parts; ++i) part(i);
    } else {
#pragma nounroll
      for (unsigned i = 0; i < parts; ++i) part(i);
    }
  }

  pack<float, max_lanes> sums_[parts][rows] = {};
};

template <matrix_tuning Tuning>
struct gemm_tiles : tile_walk<pack_multiplier<Tuning>, Tuning.max_lanes, Tuning.group_size> {};

}  // namespace syclamp::kernels
