// SPDX-License-Identifier: Apache-2.0
// Blocks of numbers that matrix units multiply, through DPC++'s joint_matrix: NVIDIA's Tensor Cores, Intel's XMX.
//
// Devices differ in the shapes that they multiply: 16 × 16 × 16, 8 × 16 × 16 or 8 × 8 × 16 (rows of A, columns of B,
// inner dimension). The host chooses a kernel whose shape and sub-group size the device has
// (src/matrix/joint_matrix.cpp). Only this file and base/group_reduction.hpp may name sub-groups.
#pragma once

#include <sycl/sycl.hpp>

#include "sycl_kernels/matrix/block_multiplier.hpp"
#include "sycl_kernels/matrix/target_blocks.hpp"

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace syclamp::kernels {

namespace matrix = sycl::ext::oneapi::experimental::matrix;

/// Blocks of A have `Rows` rows and blocks of B have `Columns` columns. A sub-group sums up a part of 32 × PartColumns.
template <typename Number, unsigned Rows, unsigned Columns, unsigned PartColumns>
class joint_blocks {
 public:
  static constexpr unsigned part_columns = PartColumns;

  [[gnu::always_inline]] void clear(const work_item& item) {
    const auto members = item.item.get_sub_group();
#pragma unroll
    for (unsigned i = 0; i < down * across; ++i) matrix::joint_matrix_fill(members, sums_[i], 0.0f);
  }

  [[gnu::always_inline]] void add(const work_item& item, const std::uint16_t* a, unsigned a_stride,
                                  const std::uint16_t* b, unsigned b_stride) {
    const auto members = item.item.get_sub_group();
    matrix::joint_matrix<sycl::sub_group, Number, matrix::use::a, Rows, block_depth, matrix::layout::row_major>
        left[down];
    matrix::joint_matrix<sycl::sub_group, Number, matrix::use::b, block_depth, Columns, matrix::layout::row_major>
        right[across];
#pragma unroll
    for (unsigned i = 0; i < across; ++i)
      matrix::joint_matrix_load(members, right[i], in_local_memory<const Number>(b + i * Columns), b_stride);
#pragma unroll
    for (unsigned i = 0; i < down; ++i)
      matrix::joint_matrix_load(members, left[i], in_local_memory<const Number>(a + i * Rows * a_stride), a_stride);
#pragma unroll
    for (unsigned i = 0; i < down * across; ++i)
      matrix::joint_matrix_mad(members, sums_[i], left[i / across], right[i % across], sums_[i]);
  }

  [[gnu::always_inline]] void store(const work_item& item, float* c, unsigned c_stride) const {
    const auto members = item.item.get_sub_group();
#pragma unroll
    for (unsigned i = 0; i < down * across; ++i)
      matrix::joint_matrix_store(members, sums_[i],
                                 in_local_memory<float>(c + i / across * Rows * c_stride + i % across * Columns),
                                 c_stride, matrix::layout::row_major);
  }

 private:
  static constexpr unsigned down = part_rows / Rows, across = PartColumns / Columns;

  template <typename T, typename From>
  static auto in_local_memory(From* pointer) {
    using word = std::conditional_t<std::is_const_v<From>, const T, T>;
    return sycl::address_space_cast<sycl::access::address_space::local_space, sycl::access::decorated::no>(
        reinterpret_cast<word*>(pointer));
  }

  matrix::joint_matrix<sycl::sub_group, float, matrix::use::accumulator, Rows, Columns> sums_[down * across];
};

template <unsigned PartColumns>
struct no_blocks {
  static constexpr unsigned part_columns = PartColumns;
  void clear(const work_item&) {}
  void add(const work_item&, const std::uint16_t*, unsigned, const std::uint16_t*, unsigned) {}
  void store(const work_item&, float*, unsigned) const {}
};

/// The multiplier of a shape. It is empty if the compiler's target has no such blocks, or if the devices of the profile
/// have no blocks of so few rows. The host never chooses a kernel with an empty one (src/matrix/joint_matrix.cpp).
template <typename Number, unsigned Rows, unsigned Columns, unsigned PartColumns, blocks_tuning Tuning>
using joint_multiplier =
    block_multiplier<std::conditional_t<(Rows >= Tuning.min_block_rows && target_has_blocks<Number, Rows, Columns>),
                                        joint_blocks<Number, Rows, Columns, PartColumns>, no_blocks<PartColumns>>,
                     Tuning>;

/// The kernel of a shape. Its entry asks the compiler for sub-groups of `group_size / sub_groups` work-items: a larger
/// one would belong to two parts of the tile.
template <typename Number, unsigned Rows, unsigned Columns, unsigned PartColumns, blocks_tuning Tuning>
struct joint_product
    : tile_walk<joint_multiplier<Number, Rows, Columns, PartColumns, Tuning>, Tuning.max_lanes, Tuning.group_size> {
  static constexpr unsigned sub_groups = joint_multiplier<Number, Rows, Columns, PartColumns, Tuning>::parts;
};

}  // namespace syclamp::kernels

#endif
