// SPDX-License-Identifier: Apache-2.0
// The numbers by which kernels are tuned: one structure for each class of operations. A kernel is a template of its
// class's structure. The numbers decide in which order memory is walked and sums are formed, never what is computed.
// The values and the measurements behind them are in backends/. Every number but `groups_per_unit` is a power of two;
// `sub_group_size` may be 0.
//
// To add a number: a member, its name in `names`, and its value in each file of backends/. A test checks that it has an
// effect. Constants that are no tuning stay in kernels, with the reason beside them.
// Host code includes this file as well, so it knows nothing but the standard library.
#pragma once

#include <cstdint>

namespace syclamp {

/// Reads one stream and reduces it: inspections.
struct reduction_tuning {
  std::uint32_t pack_bytes;      ///< most bytes that a work-item loads at a time
  std::uint32_t max_lanes;       ///< most elements that it loads at a time: each takes registers, however small it is
  std::uint32_t max_rare_lanes;  ///< the same for FP8 and FP64: code for long packs of these takes long to compile
  std::uint32_t second_pass_lanes;  ///< elements at a time when a chunk has to be read again: rare, so few registers
  std::uint32_t group_size;         ///< work-items in a work-group
  std::uint32_t groups_per_unit;    ///< work-groups per compute unit, if there is enough work
  std::uint32_t packs_per_block;    ///< packs that a work-item adds up before it starts a new sum
  std::uint32_t adders;           ///< work-items of a group that add up the results of chunks; each takes local memory
  std::uint32_t bytes_in_flight;  ///< fewest bytes that a work-item loads before it uses the first, in whole packs
  std::uint32_t sub_group_size;   ///< asked from the compiler if the device has it; 0: the compiler's choice

  static constexpr const char* names[] = {"pack_bytes",      "max_lanes",       "max_rare_lanes",  "second_pass_lanes",
                                          "group_size",      "groups_per_unit", "packs_per_block", "adders",
                                          "bytes_in_flight", "sub_group_size"};
  bool operator==(const reduction_tuning&) const = default;
};

/// Reads a stream or two and writes one, element by element: conversions, casts, quantization.
struct streaming_tuning {
  std::uint32_t max_lanes;          ///< elements that a work-item loads at a time
  std::uint32_t max_counted_lanes;  ///< the same where exponents are counted: each lane is a step of an unrolled loop
  std::uint32_t group_size;
  std::uint32_t groups_per_unit;
  std::uint32_t bytes_in_flight;  ///< as above, where the types of both streams are common

  static constexpr const char* names[] = {"max_lanes", "max_counted_lanes", "group_size", "groups_per_unit",
                                          "bytes_in_flight"};
  bool operator==(const streaming_tuning&) const = default;
};

/// A step of an optimizer: reads up to five streams and writes up to five.
struct apply_tuning {
  std::uint32_t max_lanes;
  std::uint32_t group_size;
  std::uint32_t groups_per_unit;
  std::uint32_t packs_per_block;  ///< packs that a work-item adds up before it starts a new sum, for norms of tensors
  std::uint32_t bytes_in_flight;  ///< as above, all streams together
  std::uint32_t sub_group_size;   ///< as above

  static constexpr const char* names[] = {"max_lanes",       "group_size",      "groups_per_unit",
                                          "packs_per_block", "bytes_in_flight", "sub_group_size"};
  bool operator==(const apply_tuning&) const = default;
};

/// Layers and losses, row by row or column by column.
struct rows_tuning {
  std::uint32_t max_lanes;
  std::uint32_t group_size;
  std::uint32_t groups_per_unit;
  std::uint32_t column_packs;    ///< packs of columns that a work-group sums up side by side
  std::uint32_t rows_per_block;  ///< rows that a work-item adds up before it starts a new sum
  std::uint32_t shuffle_width;   ///< work-items that combine sums by shuffles, see base/group_reduction.hpp; 1: none

  static constexpr const char* names[] = {"max_lanes",    "group_size",     "groups_per_unit",
                                          "column_packs", "rows_per_block", "shuffle_width"};
  bool operator==(const rows_tuning&) const = default;
};

/// Matrix products on any device. A work-group makes a tile of C.
struct matrix_tuning {
  std::uint32_t max_lanes;
  std::uint32_t group_size;
  std::uint32_t tile_rows, tile_columns;
  std::uint32_t tile_depth;      ///< how much of the inner dimension is in local memory at a time
  std::uint32_t rows_per_item;   ///< rows of packs that a work-item keeps in registers
  std::uint32_t sub_group_size;  ///< asked from the compiler if the device has it; 0: the compiler's choice

  static constexpr const char* names[] = {"max_lanes",  "group_size",    "tile_rows",     "tile_columns",
                                          "tile_depth", "rows_per_item", "sub_group_size"};
  bool operator==(const matrix_tuning&) const = default;
};

/// Matrix products with matrix units. A work-group is four or eight sub-groups and makes a tile of 64 × 64.
struct blocks_tuning {
  std::uint32_t max_lanes;
  std::uint32_t group_size;
  std::uint32_t tile_depth;
  std::uint32_t min_block_rows;  ///< fewest rows of A that matrix units of such devices multiply: 8 or 16
  std::uint32_t buffers;  ///< blocks of A and of B in local memory: with 2, the next ones are loaded during a product

  static constexpr const char* names[] = {"max_lanes", "group_size", "tile_depth", "min_block_rows", "buffers"};
  bool operator==(const blocks_tuning&) const = default;
};

/// A few work-items that each handle some numbers: decisions, scales, coefficients.
struct scalar_tuning {
  std::uint32_t group_size;

  static constexpr const char* names[] = {"group_size"};
  bool operator==(const scalar_tuning&) const = default;
};

/// Packs that a work-item loads before it uses the first one: enough for `bytes_in_flight`, and a power of two.
constexpr unsigned packs_in_flight(std::uint32_t bytes_in_flight, std::uint32_t pack_bytes) {
  unsigned packs = 1;
  while (packs * pack_bytes < bytes_in_flight) packs *= 2;
  return packs;
}

/// How many rows and columns of a matrix product a work-group makes.
struct tile_shape {
  std::uint32_t rows, columns;
};
constexpr tile_shape tile_of(const matrix_tuning& tuning) { return {tuning.tile_rows, tuning.tile_columns}; }
/// Not to be tuned: each sub-group makes a part of 32 × 32 or 32 × 16, which are whole blocks of matrix units.
constexpr tile_shape tile_of(const blocks_tuning&) { return {64, 64}; }

}  // namespace syclamp
