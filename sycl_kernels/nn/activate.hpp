// SPDX-License-Identifier: Apache-2.0
// activate: bias and activation of a matrix, forward and backward.
//
//   activate_rows       many work-groups   out = f(in + bias)
//   activate_gradient   many work-groups   dx = dy · f'(x + bias)
//
// Outputs may be the very same matrices as inputs: each element is read before it is written, by one work-item.
#pragma once

#include "sycl_kernels/base/activation.hpp"
#include "sycl_kernels/walk/rows.hpp"

namespace syclamp::kernels {

template <rows_tuning Tuning>
struct activate_rows {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const void* in, element_type in_type,
                                         std::uint64_t in_stride, void* out, element_type out_type,
                                         std::uint64_t out_stride, std::uint64_t rows, std::uint32_t columns,
                                         const void* bias, element_type bias_type, activation kind) {
    const row_matrix<Tuning.max_lanes> from(in, in_type, in_stride), to(out, out_type, out_stride),
        add(bias, bias_type, 0);
    if (!are_usable(from, to, add)) return;
    for_each_row_pack<Tuning.max_lanes, Tuning.group_size>(
        item, rows, columns,
        [&](std::uint64_t row, std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
          pack<float, Tuning.max_lanes> x = from.load(row, column, count);
          if (add.exists()) x += add.load(0, column, count);
          to.store(row, column, count, activate<Tuning.max_lanes>(kind, x));
        });
  }
};

template <rows_tuning Tuning>
struct activate_gradient {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const void* x, element_type x_type,
                                         std::uint64_t x_stride, const void* dy, element_type dy_type,
                                         std::uint64_t dy_stride, void* dx, element_type dx_type,
                                         std::uint64_t dx_stride, std::uint64_t rows, std::uint32_t columns,
                                         const void* bias, element_type bias_type, activation kind) {
    const row_matrix<Tuning.max_lanes> in(x, x_type, x_stride), from(dy, dy_type, dy_stride),
        to(dx, dx_type, dx_stride);
    const row_matrix<Tuning.max_lanes> add(bias, bias_type, 0);
    if (!are_usable(in, from, to, add)) rows = 0;
    for_each_row_pack<Tuning.max_lanes, Tuning.group_size>(
        item, rows, columns,
        [&](std::uint64_t row, std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
          pack<float, Tuning.max_lanes> at = in.load(row, column, count);
          if (add.exists()) at += add.load(0, column, count);
          to.store(row, column, count, from.load(row, column, count) * derivative<Tuning.max_lanes>(kind, at));
        });
  }
};

}  // namespace syclamp::kernels
