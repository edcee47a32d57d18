// SPDX-License-Identifier: Apache-2.0
// gemm_blocks: the product with blocks, multiplied by plain arithmetic. Its only use is to test on any device
// everything that the kernels gemm_joint_… do but the instruction itself. FP16 tests parts of 32 columns, BF16 parts
// of 16.
#pragma once

#include "sycl_kernels/base/format.hpp"
#include "sycl_kernels/matrix/block_multiplier.hpp"

namespace syclamp::kernels {

/// Each work-item of a sub-group keeps some elements of the part.
template <typename Format, unsigned GroupSize, unsigned PartColumns>
class plain_blocks {
 public:
  static constexpr unsigned part_columns = PartColumns;

  [[gnu::always_inline]] void clear(const work_item&) {
    for (unsigned i = 0; i < elements; ++i) sums_[i] = 0.0f;
  }

  [[gnu::always_inline]] void add(const work_item& item, const std::uint16_t* a, unsigned a_stride,
                                  const std::uint16_t* b, unsigned b_stride) {
    for (unsigned i = 0; i < elements; ++i) {
      const std::uint32_t index = item.id % members + i * members, row = index / PartColumns,
                          column = index % PartColumns;
      for (unsigned k = 0; k < block_depth; ++k)
        sums_[i] = __builtin_elementwise_fma(widen<Format>(a[row * a_stride + k]),
                                             widen<Format>(b[k * b_stride + column]), sums_[i]);
    }
  }

  [[gnu::always_inline]] void store(const work_item& item, float* c, unsigned c_stride) const {
    for (unsigned i = 0; i < elements; ++i) {
      const std::uint32_t index = item.id % members + i * members;
      c[index / PartColumns * c_stride + index % PartColumns] = sums_[i];
    }
  }

 private:
  static constexpr unsigned members = GroupSize * PartColumns / 128, elements = part_rows * PartColumns / members;
  float sums_[elements];
};

template <blocks_tuning Tuning>
struct gemm_blocks_fp16
    : tile_walk<block_multiplier<plain_blocks<format<element_type::float16>, Tuning.group_size, 32>, Tuning>,
                Tuning.max_lanes, Tuning.group_size> {};

template <blocks_tuning Tuning>
struct gemm_blocks_bf16
    : tile_walk<block_multiplier<plain_blocks<format<element_type::bfloat16>, Tuning.group_size, 16>, Tuning>,
                Tuning.max_lanes, Tuning.group_size> {};

}  // namespace syclamp::kernels
