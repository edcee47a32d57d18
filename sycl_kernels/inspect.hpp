// SPDX-License-Identifier: Apache-2.0
// inspect: reads every element once, writes none, and tells whether they are finite, how large and how small they get.
//
//   inspect_chunks   many work-groups         tensors → chunk_findings[]
//   inspect_total    one work-group           chunk_findings[] → inspection
//
// Counting Inf and NaN, and finding the first, is left out of the hot loop: only a chunk whose largest pattern is not
// that of a finite number is read a second time, from cache.
#pragma once

#include "format.hpp"
#include "layout.hpp"
#include "pack.hpp"
#include "segment.hpp"
#include "work_group.hpp"

namespace syclamp::kernels {

inline chunk_findings nothing_found() {
  chunk_findings nothing{};
  nothing.first_bad = no_bad_element;
  return nothing;
}

/// What one work-item gathers, lane by lane, in the hot loop.
template <typename Format, unsigned Lanes>
struct tally {
  using bits = pack<typename Format::bits, Lanes>;
  bits worst = 0, zeros = 0, tiny = 0;  // `tiny`: zero or subnormal
  pack<float, Lanes> squares = 0;

  void add(bits raw) {
    const bits magnitude = raw & Format::magnitude;
    worst = __builtin_elementwise_max(worst, magnitude);
    zeros += ones<bits>(magnitude == 0);
    tiny += ones<bits>(magnitude < Format::smallest_normal);
    const pack<float, Lanes> value = Format::template widen<Lanes>(raw);
    squares = __builtin_elementwise_fma(value, value, squares);
  }

  chunk_findings total(float sum_of_squares) const {
    chunk_findings found = nothing_found();
    found.worst_bits = __builtin_bit_cast(
        std::uint32_t, widen<Format>(static_cast<typename Format::bits>(__builtin_reduce_max(worst))));
    found.zeros = sum_lanes<std::uint32_t, Lanes>(zeros);
    found.subnormals = sum_lanes<std::uint32_t, Lanes>(tiny) - found.zeros;
    found.sum_of_squares = sum_of_squares;
    return found;
  }
};

inline chunk_findings merge(chunk_findings a, const chunk_findings& b) {
  a.elements += b.elements;
  a.worst_bits = a.worst_bits > b.worst_bits ? a.worst_bits : b.worst_bits;
  a.infs += b.infs;
  a.nans += b.nans;
  a.zeros += b.zeros;
  a.subnormals += b.subnormals;
  a.first_bad = a.first_bad < b.first_bad ? a.first_bad : b.first_bad;
  a.sum_of_squares += b.sum_of_squares;
  return a;
}

template <unsigned PackBytes, unsigned GroupSize>
struct inspect_chunks {
  /// What the work-items of a group share.
  struct shared {
    chunk_findings findings[GroupSize];
  };

  [[gnu::always_inline]] static void run(sycl::nd_item<1> item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         chunk_findings* findings) {
    const tensor_table table{addresses, starts, kinds, tensors};
    const chunk_range mine = chunks_of_group(item, chunks_of(starts[tensors]));
    for (std::uint64_t chunk = mine.begin; chunk < mine.end; ++chunk) {
      chunk_findings all = reduce_over_group<GroupSize>(item, local.findings, gather(item, table, chunk));
      if (all.worst_bits >= format<element_type::float32>::infinity) {
        const chunk_findings bad = reduce_over_group<GroupSize>(item, local.findings, census(item, table, chunk));
        all.infs = bad.infs;
        all.nans = bad.nans;
        all.first_bad = bad.first_bad;
      }
      if (item.get_local_id(0) == 0) findings[chunk] = all;
    }
  }

 private:
  [[gnu::always_inline]] static chunk_findings gather(sycl::nd_item<1> item, const tensor_table& table,
                                                      std::uint64_t chunk) {
    chunk_findings found = nothing_found();
    for (segment piece(table, chunk); piece.exists();)
      with_format(piece.type(), [&](auto format) __attribute__((always_inline)) {
        found = merge(found, gather_type<decltype(format)>(item, piece));
      });
    return found;
  }

  /// Pieces of one type that follow each other, in the same accumulators: thousands of small tensors cost no more than
  /// one. Squares are summed over blocks of packs and the blocks over the chunk: the error of a sum grows with the
  /// number of terms that enter one accumulator.
  template <typename Format>
  [[gnu::always_inline]] static chunk_findings gather_type(sycl::nd_item<1> item, segment& piece) {
    constexpr unsigned lanes = PackBytes / sizeof(typename Format::bits);
    static_assert(chunk_elements / lanes / GroupSize + chunk_elements / tensor_alignment <= 0xffff,
                  "16-bit lanes must be able to count their elements");
    const element_type type = piece.type();
    tally<Format, lanes> seen;
    pack<float, lanes> squares = 0;
    std::uint32_t elements = 0, filled = 0;
    do {
      // Unaligned loads cost a CPU nothing; a GPU loads lane by lane then.
      if (GroupSize > 1 && piece.is_aligned(PackBytes)) {
        add_piece<Format, true>(item, piece, seen, squares);
      } else {
        add_piece<Format, false>(item, piece, seen, squares);
      }
      const std::uint32_t rest = piece.count() % lanes;
      if (rest != 0 && first_pack<GroupSize, lanes>(item, piece) == piece.count() / lanes % GroupSize) {
        seen.add(load_tail<lanes>(piece.data<Format>() + piece.count() - rest, rest));
        filled += lanes - rest;
      }
      squares += seen.squares;
      seen.squares = 0;
      elements += piece.count();
      piece.next();
    } while (piece.exists() && piece.type() == type);
    chunk_findings found = seen.total(sum_lanes<float, lanes>(squares));
    found.zeros -= filled;  // the lanes that `load_tail` filled up
    found.elements = item.get_local_id(0) == 0 ? elements : 0;
    return found;
  }

  /// The hot loop.
  template <typename Format, bool Aligned, unsigned Lanes>
  [[gnu::always_inline]] static void add_piece(sycl::nd_item<1> item, const segment& piece, tally<Format, Lanes>& seen,
                                               pack<float, Lanes>& squares) {
    constexpr std::uint32_t block = 64 * GroupSize;
    const auto* elements = piece.data<Format>();
    const std::uint32_t packs = piece.count() / Lanes, first = first_pack<GroupSize, Lanes>(item, piece);
    for (std::uint32_t start = 0; start < packs; start += block) {
      const std::uint32_t end = start + block < packs ? start + block : packs;
      for (std::uint32_t i = start + first; i < end; i += GroupSize) seen.add(load_pack<Lanes, Aligned>(elements, i));
      squares += seen.squares;
      seen.squares = 0;
    }
  }

  /// The rare second look: how many of which kind, and where the first one is.
  [[gnu::always_inline]] static chunk_findings census(sycl::nd_item<1> item, const tensor_table& table,
                                                      std::uint64_t chunk) {
    chunk_findings found = nothing_found();
    for (segment piece(table, chunk); piece.exists(); piece.next())
      with_format(piece.type(), [&](auto format) __attribute__((always_inline)) {
        using number = decltype(format);
        const auto* elements = piece.data<number>();
        for (auto i = static_cast<std::uint32_t>(item.get_local_id(0)); i < piece.count(); i += GroupSize) {
          const auto magnitude = static_cast<typename number::bits>(elements[i] & number::magnitude);
          if (magnitude < number::infinity) continue;
          found.infs += magnitude == number::infinity;
          found.nans += magnitude != number::infinity;
          if (found.first_bad == no_bad_element) found.first_bad = piece.offset_in_chunk() + i;
        }
      });
    return found;
  }
};

/// A sum and what was lost when it was rounded, so that millions of chunks add up as exactly as a few.
struct exact_sum {
  float sum = 0, lost = 0;

  void add(const exact_sum& other) {
    const float total = sum + other.sum;
    const float part = total - sum;
    lost += other.lost + ((sum - (total - part)) + (other.sum - part));
    sum = total;
  }

  float value() const {
    const bool finite = (__builtin_bit_cast(std::uint32_t, sum) & 0x7f800000u) != 0x7f800000u;
    return finite ? sum + lost : sum;  // what was lost from an infinite sum is a NaN
  }
};

/// What was seen in some of the chunks.
struct totals {
  inspection seen;
  exact_sum squares;
};

inline totals merge(totals a, const totals& b) {
  a.seen.elements += b.seen.elements;
  a.seen.infs += b.seen.infs;
  a.seen.nans += b.seen.nans;
  a.seen.zeros += b.seen.zeros;
  a.seen.subnormals += b.seen.subnormals;
  a.seen.worst_bits = a.seen.worst_bits > b.seen.worst_bits ? a.seen.worst_bits : b.seen.worst_bits;
  a.seen.first_bad = a.seen.first_bad < b.seen.first_bad ? a.seen.first_bad : b.seen.first_bad;
  a.squares.add(b.squares);
  return a;
}

template <unsigned PackBytes, unsigned GroupSize>
struct inspect_total {
  struct shared {
    totals all[GroupSize];
  };

  [[gnu::always_inline]] static void run(sycl::nd_item<1> item, shared& local, const chunk_findings* findings,
                                         const std::uint64_t* starts, std::uint32_t tensors, inspection* result) {
    const std::uint64_t chunks = chunks_of(starts[tensors]);
    totals mine;
    for (std::uint64_t chunk = item.get_local_id(0); chunk < chunks; chunk += GroupSize) {
      const chunk_findings& found = findings[chunk];
      inspection one;
      one.elements = found.elements;
      one.infs = found.infs;
      one.nans = found.nans;
      one.zeros = found.zeros;
      one.subnormals = found.subnormals;
      one.worst_bits = found.worst_bits;
      if (found.first_bad != no_bad_element) one.first_bad = chunk * chunk_elements + found.first_bad;
      mine = merge(mine, {one, {found.sum_of_squares, 0}});
    }
    totals all = reduce_over_group<GroupSize>(item, local.all, mine);
    if (item.get_local_id(0) != 0) return;
    inspection& seen = all.seen;
    seen.findings = (seen.infs != 0 ? found_inf : 0u) | (seen.nans != 0 ? found_nan : 0u);
    seen.amax = __builtin_bit_cast(float, seen.worst_bits);
    seen.sum_of_squares = all.squares.value();
    if (seen.first_bad != no_element) {  // so far the place among all tensors
      seen.first_bad_tensor = tensor_at(starts, tensors, seen.first_bad);
      seen.first_bad -= starts[seen.first_bad_tensor];
    }
    *result = seen;
  }
};

}  // namespace syclamp::kernels
