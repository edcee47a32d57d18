// SPDX-License-Identifier: Apache-2.0
// What a device family may choose. A profile is plain data: it never changes what is computed, only in which order the
// memory is walked, so every profile is correct on every device.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace syclamp {

/// How a kernel walks over memory: each work-group takes its share of the chunks, and in a chunk neighbouring
/// work-items take neighbouring packs. A group of one work-item therefore streams through its share. All numbers but
/// `groups_per_unit` are powers of two.
struct traversal {
  std::uint32_t pack_bytes;       ///< most bytes that one work-item loads at a time
  std::uint32_t most_lanes;       ///< most elements that it loads at a time: each takes registers, however small it is
  std::uint32_t group_size;       ///< work-items in a work-group
  std::uint32_t groups_per_unit;  ///< work-groups for each compute unit, if there is work for so many
};

struct profile {
  std::string_view name;
  traversal inspect;  ///< reads one stream
  traversal convert;  ///< reads one stream and writes one
  traversal apply;    ///< an optimizer's step: reads up to five streams and writes up to five
  traversal blocks;   ///< multiplies matrices with matrix units; a work-group is four sub-groups
  traversal matrix;   ///< multiplies matrices; a work-group makes a tile
};

/// The largest work-group that a profile asks a device for.
constexpr std::uint32_t largest_group(const profile& of) {
  std::uint32_t largest = of.inspect.group_size;
  for (const traversal& one : {of.convert, of.apply, of.blocks, of.matrix})
    largest = one.group_size > largest ? one.group_size : largest;
  return largest;
}

}  // namespace syclamp
