// SPDX-License-Identifier: Apache-2.0
// losses: the loss of each row and its gradient, in one kernel. The gradient is multiplied by the loss scale in FP32,
// before it is rounded to its storage type. This keeps small gradients from underflowing.
//
//   cross_entropy_rows   one work-group per row   logits, labels → loss of each row, gradient
//   squared_error_rows   one work-group per row   y, target → sum of squares of each row, gradient
//   mean_of_rows         one work-group           losses of rows → one number
#pragma once

#include "sycl_kernels/base/maths.hpp"
#include "sycl_kernels/nn/row_sums.hpp"

namespace syclamp::kernels {

template <rows_tuning Tuning>
struct cross_entropy_rows {
  struct shared {
    sum_of sums[Tuning.group_size];
    row_maximum largest[Tuning.group_size];
  };

  /// `weight` is 1 / rows. The largest logit is subtracted first, so that no exponential overflows.
  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const void* logits,
                                         element_type logits_type, std::uint64_t logits_stride,
                                         const std::uint32_t* labels, std::uint32_t columns, float weight,
                                         const float* loss_scale, float loss_scale_value, float* losses, void* gradient,
                                         element_type gradient_type, std::uint64_t gradient_stride) {
    using floats = pack<float, Tuning.max_lanes>;
    constexpr float lowest = -0x1.fffffep127f;
    const row_matrix<Tuning.max_lanes> in(logits, logits_type, logits_stride),
        out(gradient, gradient_type, gradient_stride);
    if (!are_usable(in, out)) return;
    const std::uint64_t row = item.group;
    const std::uint32_t label = labels[row];
    const float largest = over_row<row_maximum, Tuning>(
        item, local.largest, columns, lowest,
        [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
          return first_lanes<Tuning.max_lanes>(in.load(row, column, count), count, lowest);
        });
    const auto power = [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
      return first_lanes<Tuning.max_lanes>(exponential<Tuning.max_lanes>(in.load(row, column, count) - largest), count);
    };
    const float sum = over_row<sum_of, Tuning>(item, local.sums, columns, 0.0f, power);
    const float wrong_label =
        label < columns ? 0.0f : __builtin_bit_cast(float, 0x7fc00000u);  // a wrong label makes the loss NaN
    const float factor = scalar_argument{loss_scale, loss_scale_value}.get() * weight + wrong_label;
    if (item.id == 0) {
      const std::uint32_t column = label < columns ? label : 0;
      const float own = in.load(row, column, 1)[0] - largest;
      losses[row] = logarithm<2>(pack<float, 2>(sum))[0] - own + wrong_label;
    }
    if (out.exists())
      for_each_pack_of_row<Tuning.max_lanes, Tuning.group_size>(
          item, columns, [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
            floats share = power(column, count) / sum;
#pragma unroll
            for (unsigned i = 0; i < Tuning.max_lanes; ++i) share[i] -= column + i == label ? 1.0f : 0.0f;
            out.store(row, column, count, share * factor);
          });
  }
};

template <rows_tuning Tuning>
struct squared_error_rows {
  struct shared {
    sum_of sums[Tuning.group_size];
  };

  /// `weight` is 1 / (rows · columns).
  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const void* y, element_type y_type,
                                         std::uint64_t y_stride, const void* target, element_type target_type,
                                         std::uint64_t target_stride, std::uint32_t columns, float weight,
                                         const float* loss_scale, float loss_scale_value, float* losses, void* gradient,
                                         element_type gradient_type, std::uint64_t gradient_stride) {
    using floats = pack<float, Tuning.max_lanes>;
    const row_matrix<Tuning.max_lanes> in(y, y_type, y_stride), to(target, target_type, target_stride);
    const row_matrix<Tuning.max_lanes> out(gradient, gradient_type, gradient_stride);
    if (!are_usable(in, to, out)) return;
    const std::uint64_t row = item.group;
    const auto residual = [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
      return in.load(row, column, count) - to.load(row, column, count);
    };
    const float sum = over_row<sum_of, Tuning>(
        item, local.sums, columns, 0.0f, [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
          const floats r = residual(column, count);
          return r * r;
        });
    if (item.id == 0) losses[row] = sum;
    const float factor = 2.0f * (scalar_argument{loss_scale, loss_scale_value}.get() * weight);
    if (out.exists())
      for_each_pack_of_row<Tuning.max_lanes, Tuning.group_size>(
          item, columns, [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
            out.store(row, column, count, residual(column, count) * factor);
          });
  }
};

template <rows_tuning Tuning>
struct mean_of_rows {
  struct shared {
    sum_of sums[Tuning.group_size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const float* losses, std::uint32_t rows,
                                         float weight, float* mean) {
    const row_matrix<Tuning.max_lanes> in(losses, element_type::float32, 0);
    const float sum = over_row<sum_of, Tuning>(
        item, local.sums, rows, 0.0f, [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
          return in.load(0, column, count);
        });
    if (item.id == 0) *mean = sum * weight;
  }
};

}  // namespace syclamp::kernels
