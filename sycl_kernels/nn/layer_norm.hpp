// SPDX-License-Identifier: Apache-2.0
// layer_norm: each row less its mean, over its standard deviation; forward and backward.
//
//   layer_norm_rows       one work-group per row                       x → y, mean and 1/deviation of each row
//   layer_norm_gradient   one work-group per row                       dy, x → dx
//   layer_norm_sums       one work-group per several packs of columns  dy, x → gradients of scale and shift
//
// The variance is that of the deviations, in a second pass over the row: squares of large numbers are never subtracted.
#pragma once

#include "sycl_kernels/nn/row_sums.hpp"

namespace syclamp::kernels {

template <rows_tuning Tuning>
struct layer_norm_rows {
  struct shared {
    sum_of sums[Tuning.group_size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const void* x, element_type x_type,
                                         std::uint64_t x_stride, const void* scale, element_type scale_type,
                                         const void* shift, element_type shift_type, void* y, element_type y_type,
                                         std::uint64_t y_stride, std::uint32_t columns, float epsilon, float* means,
                                         float* inverses) {
    using floats = pack<float, Tuning.max_lanes>;
    const row_matrix<Tuning.max_lanes> in(x, x_type, x_stride), out(y, y_type, y_stride);
    const row_matrix<Tuning.max_lanes> factors(scale, scale_type, 0), plus(shift, shift_type, 0);
    if (!are_usable(in, out, factors, plus)) return;
    const std::uint64_t row = item.group;
    const auto size = static_cast<float>(columns);
    const auto sum = [&](auto term) __attribute__((always_inline)) {
      return over_row<sum_of, Tuning>(item, local.sums, columns, 0.0f, term);
    };
    const float mean = sum([&](std::uint32_t column, std::uint32_t count)
                               __attribute__((always_inline)) { return in.load(row, column, count); }) /
                       size;
    const float variance = sum([&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
                             const floats d = first_lanes<Tuning.max_lanes>(in.load(row, column, count) - mean, count);
                             return d * d;
                           }) /
                           size;
    const float inverse = 1.0f / __builtin_elementwise_sqrt(variance + epsilon);
    for_each_pack_of_row<Tuning.max_lanes, Tuning.group_size>(
        item, columns, [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
          const floats normal = (in.load(row, column, count) - mean) * inverse;
          out.store(row, column, count,
                    __builtin_elementwise_fma(normal, factors.load(0, column, count), plus.load(0, column, count)));
        });
    if (item.id == 0) {
      means[row] = mean;
      inverses[row] = inverse;
    }
  }
};

template <rows_tuning Tuning>
struct layer_norm_gradient {
  struct shared {
    sum_of sums[Tuning.group_size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const void* x, element_type x_type,
                                         std::uint64_t x_stride, const void* scale, element_type scale_type,
                                         const void* dy, element_type dy_type, std::uint64_t dy_stride, void* dx,
                                         element_type dx_type, std::uint64_t dx_stride, std::uint32_t columns,
                                         const float* means, const float* inverses) {
    using floats = pack<float, Tuning.max_lanes>;
    const row_matrix<Tuning.max_lanes> in(x, x_type, x_stride), from(dy, dy_type, dy_stride),
        to(dx, dx_type, dx_stride);
    const row_matrix<Tuning.max_lanes> factors(scale, scale_type, 0);
    if (!are_usable(in, from, to, factors)) return;
    const std::uint64_t row = item.group;
    const float mean = means[row], inverse = inverses[row];
    const auto size = static_cast<float>(columns);
    const auto gradient = [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
      return from.load(row, column, count) * factors.load(0, column, count);
    };
    const auto normal = [&](std::uint32_t column, std::uint32_t count)
                            __attribute__((always_inline)) { return (in.load(row, column, count) - mean) * inverse; };
    const auto sum = [&](auto term) __attribute__((always_inline)) {
      return over_row<sum_of, Tuning>(item, local.sums, columns, 0.0f, term);
    };
    const float average = sum(gradient) / size;
    const float along = sum([&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
                          return gradient(column, count) * normal(column, count);  // 0 beyond the row, as `gradient` is
                        }) /
                        size;
    for_each_pack_of_row<Tuning.max_lanes, Tuning.group_size>(
        item, columns, [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
          const floats part = gradient(column, count) - average - normal(column, count) * along;
          to.store(row, column, count, part * inverse);
        });
  }
};

template <rows_tuning Tuning>
struct layer_norm_sums {
  using sums = column_sums<Tuning>;
  using shared = typename sums::shared;

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const void* x, element_type x_type,
                                         std::uint64_t x_stride, const void* dy, element_type dy_type,
                                         std::uint64_t dy_stride, std::uint64_t rows, std::uint32_t columns,
                                         const float* means, const float* inverses, void* dscale,
                                         element_type dscale_type, void* dshift, element_type dshift_type) {
    using floats = pack<float, Tuning.max_lanes>;
    const row_matrix<Tuning.max_lanes> in(x, x_type, x_stride), from(dy, dy_type, dy_stride);
    const row_matrix<Tuning.max_lanes> to_scale(dscale, dscale_type, 0), to_shift(dshift, dshift_type, 0);
    if (!are_usable(in, from, to_scale, to_shift)) return;
    sums::run(
        item, local, rows, columns,
        [&](std::uint64_t row, std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
          const floats normal = (in.load(row, column, count) - means[row]) * inverses[row];
          return from.load(row, column, count) * normal;
        },
        [&](std::uint32_t column, std::uint32_t count, floats sum)
            __attribute__((always_inline)) { to_scale.store(0, column, count, sum); });
    sums::run(
        item, local, rows, columns,
        [&](std::uint64_t row, std::uint32_t column, std::uint32_t count)
            __attribute__((always_inline)) { return from.load(row, column, count); },
        [&](std::uint32_t column, std::uint32_t count, floats sum)
            __attribute__((always_inline)) { to_shift.store(0, column, count, sum); });
  }
};

}  // namespace syclamp::kernels
