// SPDX-License-Identifier: Apache-2.0
// inspect_tensors: an inspection with the details: of each tensor, of each group, L1 norms, the exponents.
//
//   inspect_pieces    many work-groups   tensors → chunk_findings[], one a piece; exponents
//   inspect_tensors   many work-groups   chunk_findings[] → inspection[], one a tensor
//   inspect_groups    many work-groups   inspection[] → inspection[], one a group and one for all
//
// The piece of tensor t in chunk c has the record number c + t: from piece to piece one of the two grows by one, so the
// numbers are all different, and those of one tensor follow each other.
#pragma once

#include "inspect.hpp"

namespace syclamp::kernels {

/// Counts the exponents of the elements in local memory, if there is any to count in.
template <unsigned GroupSize>
struct counting_exponents {
  std::uint32_t* bins;

  bool also_aligned(const segment&, unsigned) const { return true; }

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void operator()(const segment&, const Place&, pack<float, Lanes> x) const {
    if (bins != nullptr) count<Lanes>(x);
  }

 private:
  template <unsigned Lanes>
  [[gnu::always_inline]] void count(pack<float, Lanes> x) const {
    const auto raw = __builtin_bit_cast(pack<std::uint32_t, Lanes>, x) & 0x7fffffffu;
    const auto add = [&](std::uint32_t magnitude) __attribute__((always_inline)) {
      if constexpr (GroupSize == 1) {
        bins[magnitude >> 23] += magnitude != 0;
      } else {
        if (magnitude != 0) local_word(bins[magnitude >> 23]).fetch_add(1u);
      }
    };
    if constexpr (Lanes <= unrolled_lanes) {
#pragma unroll
      for (unsigned i = 0; i < Lanes; ++i) add(raw[i]);
    } else {
#pragma nounroll
      for (unsigned i = 0; i < Lanes; ++i) add(raw[i]);
    }
  }
};

template <unsigned PackBytes, unsigned MostLanes, unsigned GroupSize>
struct inspect_pieces {
  struct shared {
    chunk_findings findings[GroupSize];
    std::uint32_t bins[exponent_histogram::size];
  };

  [[gnu::always_inline]] static void run(sycl::nd_item<1> item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         chunk_findings* findings, exponent_histogram* histogram) {
    const tensor_table table{addresses, starts, kinds, tensors};
    const chunk_range mine = chunks_of_group(item, chunks_of(starts[tensors]));
    const counting_exponents<GroupSize> effect{histogram != nullptr ? local.bins : nullptr};
    if (histogram != nullptr) clear(item, local.bins);
    for (std::uint64_t chunk = mine.begin; chunk < mine.end; ++chunk) {
      for (segment piece(table, chunk); piece.exists(); piece.next()) {
        const chunk_findings found = inspect_piece(item, local, piece, effect);
        if (item.get_local_id(0) == 0) findings[chunk + piece.tensor()] = found;
      }
      const bool full = (chunk - mine.begin) % chunks_before_flush == chunks_before_flush - 1;
      if (histogram != nullptr && (full || chunk + 1 == mine.end)) flush(item, local.bins, *histogram);
    }
  }

 private:
  /// So many that no bin can overflow.
  static constexpr std::uint64_t chunks_before_flush = (std::uint64_t{1} << 31) / chunk_elements;

  [[gnu::always_inline]] static chunk_findings inspect_piece(sycl::nd_item<1> item, shared& local, const segment& piece,
                                                             const counting_exponents<GroupSize>& effect) {
    chunk_findings mine = nothing_found();
    with_format(piece.type(), [&](auto format) __attribute__((always_inline)) {
      using number = decltype(format);
      tally<number, inspected_lanes<number, PackBytes, MostLanes>(), true> seen;
      add_piece<GroupSize>(item, piece, seen, effect);
      mine = seen.total();
    });
    chunk_findings all = reduce_over_group<GroupSize>(item, local.findings, mine);
    if (all.worst_bits >= format<element_type::float64>::infinity) {
      const chunk_findings bad = reduce_over_group<GroupSize>(item, local.findings, census<GroupSize>(item, piece));
      all.infs = bad.infs;
      all.nans = bad.nans;
      all.first_bad = bad.first_bad;
    }
    all.elements = piece.count();
    return all;
  }

  [[gnu::always_inline]] static void clear(sycl::nd_item<1> item, std::uint32_t* bins) {
    for (auto i = static_cast<std::uint32_t>(item.get_local_id(0)); i < exponent_histogram::size; i += GroupSize)
      bins[i] = 0;
    if constexpr (GroupSize > 1) sycl::group_barrier(item.get_group());
  }

  [[gnu::always_inline]] static void flush(sycl::nd_item<1> item, std::uint32_t* bins, exponent_histogram& histogram) {
    if constexpr (GroupSize > 1) sycl::group_barrier(item.get_group());
    for (auto i = static_cast<std::uint32_t>(item.get_local_id(0)); i < exponent_histogram::size; i += GroupSize)
      add_to_count(&histogram.counts[i], bins[i]);
    clear(item, bins);
  }
};

template <unsigned PackBytes, unsigned MostLanes, unsigned GroupSize>
struct inspect_tensors {
  struct shared {
    totals all[GroupSize];
  };

  [[gnu::always_inline]] static void run(sycl::nd_item<1> item, shared& local, const chunk_findings* findings,
                                         const std::uint64_t* addresses, const std::uint64_t* starts,
                                         const std::uint32_t* kinds, std::uint32_t tensors, const float* scale,
                                         inspection* results) {
    for (std::uint64_t tensor = item.get_group(0); tensor < tensors; tensor += item.get_group_range(0)) {
      const std::uint64_t begin = starts[tensor], end = starts[tensor + 1] - tensor_kind::padding(kinds[tensor]);
      const bool exists = addresses[tensor] != 0 && begin != end;
      const std::uint64_t first = begin / chunk_elements, last = exists ? (end - 1) / chunk_elements + 1 : first;
      totals mine;
      for (std::uint64_t chunk = first + item.get_local_id(0); chunk < last; chunk += GroupSize) {
        const chunk_findings& found = findings[chunk + tensor];
        totals one = total_of(found);
        if (found.first_bad != no_bad_element) {
          one.seen.first_bad = chunk * chunk_elements + found.first_bad - begin;
          one.seen.first_bad_tensor = tensor;
        }
        mine = merge(mine, one);
      }
      const totals all = reduce_over_group<GroupSize>(item, local.all, mine);
      if (item.get_local_id(0) == 0) results[tensor] = finished(all, scale);
    }
  }
};

template <unsigned PackBytes, unsigned MostLanes, unsigned GroupSize>
struct inspect_groups {
  struct shared {
    totals all[GroupSize];
  };

  /// `members` are the tensors ordered by their groups, those of group g from `group_starts[g]` on.
  [[gnu::always_inline]] static void run(sycl::nd_item<1> item, shared& local, const inspection* of_tensors,
                                         std::uint32_t tensors, const std::uint32_t* members,
                                         const std::uint32_t* group_starts, std::uint32_t groups, const float* scale,
                                         inspection* of_groups, inspection* of_all, std::uint32_t* sticky) {
    for (std::uint64_t group = item.get_group(0); group <= groups; group += item.get_group_range(0)) {
      const bool is_all = group == groups;
      const std::uint32_t begin = is_all ? 0 : group_starts[group], end = is_all ? tensors : group_starts[group + 1];
      totals mine;
      for (auto i = begin + static_cast<std::uint32_t>(item.get_local_id(0)); i < end; i += GroupSize)
        mine = merge(mine, total_of(of_tensors[is_all ? i : members[i]]));
      const totals all = reduce_over_group<GroupSize>(item, local.all, mine);
      if (item.get_local_id(0) == 0) {
        const inspection seen = finished(all, scale);
        (is_all ? *of_all : of_groups[group]) = seen;
        if (is_all && sticky != nullptr) global_word(*sticky).fetch_or(seen.findings);
      }
    }
  }
};

}  // namespace syclamp::kernels
