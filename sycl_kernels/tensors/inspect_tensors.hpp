// SPDX-License-Identifier: Apache-2.0
// inspect_tensors: an inspection with the details: of each tensor, of each group, and L1 norms.
//
//   inspect_pieces    many work-groups   tensors → chunk_statistics[], one per piece
//   inspect_tensors   many work-groups   chunk_statistics[] → inspection[], one per tensor
//   inspect_groups    many work-groups   inspection[] → inspection[], one per group and one for all
//
// The piece of tensor t in chunk c has the record number c + t: from piece to piece neither falls and one grows, so the
// numbers are all different, and those of one tensor follow each other.
#pragma once

#include "sycl_kernels/tensors/inspect.hpp"

namespace syclamp::kernels {

template <reduction_tuning Tuning>
struct inspect_pieces {
  struct shared {
    chunk_statistics statistics[Tuning.group_size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         chunk_statistics* statistics) {
    const tensor_table table{addresses, starts, kinds, tensors};
    for (piece_walk piece(table, chunks_of_group(item, table)); piece.exists(); piece.next()) {
      with_format(piece.type(), [&](auto format) __attribute__((always_inline)) {
        using number = decltype(format);
        tally_for<number, inspected_lanes<number, Tuning>(), Tuning, true> seen;
        add_piece<Tuning>(item, piece, seen, only_looking{});
        local.statistics[item.id] = seen.total();
      });
      if (item.id == 0) local.statistics[0].elements = piece.count();
      report<Tuning.group_size>(
          item, local.statistics, statistics[std::uint64_t{piece.chunk()} + piece.tensor()],
          [&]() __attribute__((always_inline)) { return census<Tuning.group_size>(item, piece); },
          [&](std::int32_t unit)
              __attribute__((always_inline)) { return sums_in_unit<Tuning, true>(item, piece, unit, 1.0f); });
    }
  }
};

/// The scale of a group: the same for all if `stride` is 0. `scale` may be null.
inline scalar_argument scale_of(const float* scale, float value, std::uint32_t stride, std::uint64_t group) {
  return {scale != nullptr ? scale + group * stride : nullptr, value};
}

template <reduction_tuning Tuning>
struct inspect_tensors {
  struct shared {
    totals all[Tuning.group_size];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const chunk_statistics* statistics,
                                         const std::uint64_t* addresses, const std::uint64_t* starts,
                                         const std::uint32_t* kinds, std::uint32_t tensors, const float* scale,
                                         float scale_value, std::uint32_t stride, inspection* results) {
    for (std::uint64_t tensor = item.group; tensor < tensors; tensor += item.groups) {
      const std::uint64_t begin = starts[tensor], end = starts[tensor + 1] - tensor_kind::padding(kinds[tensor]);
      const bool exists = addresses[tensor] != 0 && begin != end;
      const std::uint64_t first = begin / chunk_elements, last = exists ? (end - 1) / chunk_elements + 1 : first;
      totals mine;
      for (std::uint64_t chunk = first + item.id; chunk < last; chunk += Tuning.group_size) {
        const chunk_statistics& found = statistics[chunk + tensor];
        totals part = total_of(found);
        if (found.first_nonfinite != no_bad_element) {
          part.result.first_nonfinite = chunk * chunk_elements + found.first_nonfinite - begin;
          part.result.first_nonfinite_tensor = tensor;
        }
        mine = merge(mine, part);
      }
      const totals all = reduce_over_group<Tuning.group_size>(item, local.all, mine);
      if (item.id == 0)
        results[tensor] = finished(all, scale_of(scale, scale_value, stride, tensor_kind::group(kinds[tensor])));
    }
  }
};

template <reduction_tuning Tuning>
struct inspect_groups {
  struct shared {
    totals all[Tuning.group_size];
  };

  /// `members` are the tensors ordered by their groups, those of group g from `group_starts[g]` on. `kinds`: not null
  /// on a rank that leaves out the squares of replicated tensors, because another rank adds them.
  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const inspection* of_tensors,
                                         std::uint32_t tensors, const std::uint32_t* members,
                                         const std::uint32_t* group_starts, std::uint32_t groups, const float* scale,
                                         float scale_value, std::uint32_t stride, const std::uint32_t* kinds,
                                         inspection* of_groups, inspection* of_all) {
    for (std::uint64_t group = item.group; group <= groups; group += item.groups) {
      const bool is_all = group == groups;
      const std::uint32_t begin = is_all ? 0 : group_starts[group], end = is_all ? tensors : group_starts[group + 1];
      totals mine;
      for (std::uint32_t i = begin + item.id; i < end; i += Tuning.group_size) {
        const std::uint32_t tensor = is_all ? i : members[i];
        totals part = total_of(of_tensors[tensor]);
        if (kinds != nullptr && tensor_kind::is_replicated(kinds[tensor])) part.squares = {};
        mine = merge(mine, part);
      }
      const totals all = reduce_over_group<Tuning.group_size>(item, local.all, mine);
      if (item.id == 0) {
        // All groups together have a scale only if it is the same for all.
        const bool has_scale = !is_all || stride == 0;
        (is_all ? *of_all : of_groups[group]) = finished(
            all, has_scale ? scale_of(scale, scale_value, stride, group) : scalar_argument{nullptr, no_scalar});
      }
    }
  }
};

}  // namespace syclamp::kernels
