// SPDX-License-Identifier: Apache-2.0
// Walks over matrices row by row, for kernels that work on rows or on each element.
#pragma once

#include "sycl_kernels/base/pack.hpp"
#include "sycl_kernels/base/work_group.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"
#include "sycl_kernels/walk/tile.hpp"

namespace syclamp::kernels {

/// A row-major matrix of one of `matrix_types`. Its type is asked for at each pack; all work-items agree on it.
///
/// A matrix of another type is neither read nor written. A kernel asks once whether its matrices are usable. Where
/// registers are cheaper that way (`AskOnce` is false), each pack asks: then such a matrix reads as NaN.
template <unsigned Lanes, bool AskOnce = true>
class row_matrix {
 public:
  using floats = pack<float, Lanes>;

  row_matrix(const void* data, element_type type, std::uint64_t stride)
      : address_(reinterpret_cast<std::uintptr_t>(data)),
        stride_(stride),
        type_(type),
        aligned_(address_ % (Lanes * bytes_per_element(type)) == 0 && stride % Lanes == 0) {}

  bool exists() const { return address_ != 0; }

  /// False if there is a matrix, but its type is none of `matrix_types`: then it must be neither read nor written.
  bool is_usable() const { return address_ == 0 || is_among<matrix_types>(type_); }

  /// `count` elements, the other lanes 0; `Lanes` of them if `count` is no less.
  [[gnu::always_inline]] floats load(std::uint64_t row, std::uint32_t column, std::uint32_t count) const {
    floats x = __builtin_bit_cast(float, 0x7fc00000u);
    with_type([&](auto format) __attribute__((always_inline)) {
      const typed_stream<decltype(format)> from{address_};
      at(row, column, count, [&](auto place) __attribute__((always_inline)) { x = from.template load<Lanes>(place); });
    });
    return x;
  }

  [[gnu::always_inline]] void store(std::uint64_t row, std::uint32_t column, std::uint32_t count, floats x) const {
    with_type([&](auto format) __attribute__((always_inline)) {
      const typed_stream<decltype(format)> to{address_};
      at(row, column, count, [&](auto place) __attribute__((always_inline)) { to.template store<Lanes>(place, x); });
    });
  }

 private:
  template <typename Action>
  [[gnu::always_inline]] void with_type(Action action) const {
    if constexpr (AskOnce) {
      with_checked_format_among<matrix_types>(type_, action);
    } else {
      with_format_among<matrix_types>(type_, action);
    }
  }

  template <typename Action>
  [[gnu::always_inline]] void at(std::uint64_t row, std::uint32_t column, std::uint32_t count, Action action) const {
    const std::uint64_t first = row * stride_ + column;
    if (count < Lanes) {
      action(part_of_pack<Lanes>{first, count});
    } else if (Lanes <= unrolled_lanes && aligned_) {  // unaligned accesses cost a CPU nothing
      action(whole_pack<Lanes, true>{first});
    } else {
      action(whole_pack<Lanes, false>{first});
    }
  }

  std::uint64_t address_, stride_;
  element_type type_;
  bool aligned_;
};

/// All work-items get the same answer.
template <typename... Matrices>
[[gnu::always_inline]] inline bool are_usable(const Matrices&... matrices) {
  return (matrices.is_usable() && ...);
}

/// Calls `action(row, column, count)` for each pack of a matrix that this work-item takes. A work-group has
/// neighbouring rows, and its work-items neighbouring packs.
template <unsigned Lanes, unsigned GroupSize, typename Action>
[[gnu::always_inline]] inline void for_each_row_pack(const work_item& item, std::uint64_t rows, std::uint32_t columns,
                                                     Action action) {
  const std::uint32_t across = (columns + Lanes - 1) / Lanes;
  const std::uint64_t share = rows / item.groups, rest = rows % item.groups;
  const std::uint64_t begin = item.group * share + (item.group < rest ? item.group : rest);
  const std::uint64_t end = begin + share + (item.group < rest);
  // From pack to pack without a division.
  const std::uint32_t step_rows = GroupSize / across, step_packs = GroupSize % across;
  std::uint32_t place = item.id % across;
  for (std::uint64_t row = begin + item.id / across; row < end; row += step_rows) {
    const std::uint32_t column = place * Lanes;
    action(row, column, columns - column);
    place += step_packs;
    const bool next = place >= across;
    row += next;
    place -= next ? across : 0;
  }
}

/// Calls `action(column, count)` for each pack of one row that this work-item takes.
template <unsigned Lanes, unsigned GroupSize, typename Action>
[[gnu::always_inline]] inline void for_each_pack_of_row(const work_item& item, std::uint32_t columns, Action action) {
  const std::uint32_t across = (columns + Lanes - 1) / Lanes;
  for (std::uint32_t i = item.id; i < across; i += GroupSize) action(i * Lanes, columns - i * Lanes);
}

}  // namespace syclamp::kernels
