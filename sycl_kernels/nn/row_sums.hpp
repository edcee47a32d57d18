// SPDX-License-Identifier: Apache-2.0
// Sums and maxima over rows and over columns, always in the same order.
#pragma once

#include "sycl_kernels/base/group_reduction.hpp"
#include "sycl_kernels/base/pack.hpp"
#include "sycl_kernels/walk/rows.hpp"

namespace syclamp::kernels {

/// Zeros instead of the lanes from `count` on.
template <unsigned Lanes>
[[gnu::always_inline]] inline pack<float, Lanes> first_lanes(pack<float, Lanes> x, std::uint32_t count,
                                                             float instead = 0.0f) {
  pack<std::uint32_t, Lanes> lane = 0;
#pragma unroll
  for (unsigned i = 0; i < Lanes; ++i) lane[i] = i;
  return lane < count ? x : pack<float, Lanes>(instead);
}

struct sum_of {
  float value;
};
[[gnu::always_inline]] inline sum_of merge(const sum_of& a, const sum_of& b) { return {a.value + b.value}; }

struct row_maximum {
  float value;
};
/// The maximum; a NaN counts as larger than any number.
[[gnu::always_inline]] inline row_maximum merge(const row_maximum& a, const row_maximum& b) {
  const bool a_is_nan = (__builtin_bit_cast(std::uint32_t, a.value) & 0x7fffffffu) > 0x7f800000u;
  return {a_is_nan || b.value <= a.value ? a.value : b.value};
}

/// The sum, or the largest, of what `term(column, count)` gives for the packs of a row: lanes, then work-items. All
/// work-items get it. Lanes that do not count must be neutral.
template <typename Result, rows_tuning Tuning, typename Term>
[[gnu::always_inline]] inline float over_row(const work_item& item, Result* shared, std::uint32_t columns,
                                             float neutral, Term term) {
  constexpr unsigned max_lanes = Tuning.max_lanes, group_size = Tuning.group_size;
  pack<float, max_lanes> lanes = neutral;
  for_each_pack_of_row<max_lanes, group_size>(
      item, columns, [&](std::uint32_t column, std::uint32_t count) __attribute__((always_inline)) {
        const pack<float, max_lanes> x = term(column, count);
#pragma unroll
        for (unsigned i = 0; i < max_lanes; ++i) lanes[i] = merge(Result{lanes[i]}, Result{x[i]}).value;
      });
  Result mine{lanes[0]};
#pragma unroll
  for (unsigned i = 1; i < max_lanes; ++i) mine = merge(mine, Result{lanes[i]});
  return group_reduction<Tuning.shuffle_width>::template reduce<group_size>(item, shared, mine).value;
}

/// Sums over the rows of a matrix, for some packs of its columns: each work-item takes a pack and every n-th row, and
/// the sums of the work-items are then added pairwise. Rows are summed in blocks, so that errors grow with their square
/// root at most.
template <rows_tuning Tuning>
class column_sums {
 public:
  static constexpr unsigned max_lanes = Tuning.max_lanes;
  static constexpr unsigned across = Tuning.column_packs, strands = Tuning.group_size / across;
  static_assert(strands >= 1);
  using floats = pack<float, max_lanes>;
  struct shared {
    float partial[Tuning.group_size * max_lanes];
  };

  /// Calls `done(column, count, sums)` once for each pack, with the sums of `term(row, column, count)`.
  template <typename Term, typename Done>
  [[gnu::always_inline]] static void run(const work_item& item, shared& local, std::uint64_t rows,
                                         std::uint32_t columns, Term term, Done done) {
    const std::uint32_t strand = item.id / across;
    const std::uint32_t column = (item.group * across + item.id % across) * max_lanes;
    const bool inside = column < columns;
    const std::uint32_t count = inside ? columns - column : 0;
    floats sum = 0.0f;
    if (inside)
      for (std::uint64_t block = strand; block < rows; block += std::uint64_t{strands} * Tuning.rows_per_block) {
        floats part = 0.0f;
        for (std::uint64_t i = 0; i < Tuning.rows_per_block; ++i) {
          const std::uint64_t row = block + i * strands;
          if (row < rows) part += term(row, column, count);
        }
        sum += part;
      }
    if constexpr (strands > 1) {
      store_pack<max_lanes, false>(local.partial + item.id * max_lanes, 0, sum);
      for (std::uint32_t reach = strands / 2; reach > 0; reach /= 2) {
        item.barrier();
        if (strand < reach) {
          sum += load_pack<max_lanes, false>(local.partial + (item.id + reach * across) * max_lanes, 0);
          store_pack<max_lanes, false>(local.partial + item.id * max_lanes, 0, sum);
        }
      }
      item.barrier();  // the memory may be used again at once
    }
    if (inside && strand == 0) done(column, count, sum);
  }
};

/// The sums of a matrix's columns: the gradient of a bias.
template <rows_tuning Tuning>
struct sum_rows {
  using sums = column_sums<Tuning>;
  using shared = typename sums::shared;

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const void* in, element_type in_type,
                                         std::uint64_t in_stride, std::uint64_t rows, std::uint32_t columns, void* out,
                                         element_type out_type) {
    const row_matrix<Tuning.max_lanes, false> from(in, in_type, in_stride), to(out, out_type, 0);
    sums::run(
        item, local, rows, columns,
        [&](std::uint64_t row, std::uint32_t column, std::uint32_t count)
            __attribute__((always_inline)) { return from.load(row, column, count); },
        [&](std::uint32_t column, std::uint32_t count, pack<float, Tuning.max_lanes> sum)
            __attribute__((always_inline)) { to.store(0, column, count, sum); });
  }
};

}  // namespace syclamp::kernels
