// SPDX-License-Identifier: Apache-2.0
// Blocks of 16 × 16 numbers that matrix units multiply, through DPC++'s joint_matrix: NVIDIA's Tensor Cores, Intel's
// XMX.
//
// Four sub-groups to a work-group: the host has asked the device for the size of its sub-groups and for the combination
// 16 × 16 × 16 of 16 bits with FP32 sums. Only this file may name sub-groups.
#pragma once

#include <sycl/sycl.hpp>

#include "sycl_kernels/matrix/block_multiplier.hpp"

#if defined(SYCL_EXT_ONEAPI_MATRIX)

namespace syclamp::kernels {

namespace matrix = sycl::ext::oneapi::experimental::matrix;

template <typename Number>
class joint_blocks {
 public:
  [[gnu::always_inline]] void clear(const work_item& item) {
    const auto members = item.item.get_sub_group();
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) matrix::joint_matrix_fill(members, sums_[i], 0.0f);
  }

  [[gnu::always_inline]] void add(const work_item& item, const std::uint16_t* a, unsigned a_stride,
                                  const std::uint16_t* b, unsigned b_stride) {
    const auto members = item.item.get_sub_group();
    matrix::joint_matrix<sycl::sub_group, Number, matrix::use::a, block_size, block_size, matrix::layout::row_major>
        left[2];
    matrix::joint_matrix<sycl::sub_group, Number, matrix::use::b, block_size, block_size, matrix::layout::row_major>
        right[2];
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      matrix::joint_matrix_load(members, left[i], in_local_memory<const Number>(a + i * block_size * a_stride),
                                a_stride);
      matrix::joint_matrix_load(members, right[i], in_local_memory<const Number>(b + i * block_size), b_stride);
    }
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) matrix::joint_matrix_mad(members, sums_[i], left[i / 2], right[i % 2], sums_[i]);
  }

  [[gnu::always_inline]] void store(const work_item& item, float* c, unsigned c_stride) const {
    const auto members = item.item.get_sub_group();
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      matrix::joint_matrix_store(members, sums_[i],
                                 in_local_memory<float>(c + i / 2 * block_size * c_stride + i % 2 * block_size),
                                 c_stride, matrix::layout::row_major);
  }

 private:
  template <typename T, typename From>
  static auto in_local_memory(From* pointer) {
    using word = std::conditional_t<std::is_const_v<From>, const T, T>;
    return sycl::address_space_cast<sycl::access::address_space::local_space, sycl::access::decorated::no>(
        reinterpret_cast<word*>(pointer));
  }

  matrix::joint_matrix<sycl::sub_group, float, matrix::use::accumulator, block_size, block_size> sums_[4];
};

}  // namespace syclamp::kernels

#endif
