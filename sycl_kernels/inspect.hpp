// SPDX-License-Identifier: Apache-2.0
// inspect: reads every element once, writes none, and tells whether they are finite, how large and how small they get.
//
//   inspect_chunks   one work-group a chunk   data → chunk_findings[]
//   inspect_total    one work-group           chunk_findings[] → inspection
//
// Counting Inf and NaN, and finding the first, is left out of the hot loop: only a chunk whose largest pattern is not
// that of a finite number is read a second time, from cache.
#pragma once

#include "format.hpp"
#include "layout.hpp"
#include "pack.hpp"
#include "work_group.hpp"

namespace syclamp::kernels {

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
    chunk_findings found{};
    found.worst_bits = __builtin_reduce_max(worst);
    found.zeros = sum_lanes<std::uint32_t, Lanes>(zeros);
    found.subnormals = sum_lanes<std::uint32_t, Lanes>(tiny) - found.zeros;
    found.sum_of_squares = sum_of_squares;
    found.first_bad = no_bad_element;
    return found;
  }
};

inline chunk_findings merge(chunk_findings a, const chunk_findings& b) {
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

  static void run(sycl::nd_item<1> item, shared& local, const void* data, std::uint64_t count, element_type type,
                  chunk_findings* findings) {
    with_format(type, [&](auto format) {
      using number = decltype(format);
      const auto* elements = static_cast<const typename number::bits*>(data);
      // Chunks are multiples of any pack: all of them are aligned, or none is. For CPUs it makes no difference.
      const bool aligned = GroupSize > 1 && reinterpret_cast<std::uintptr_t>(data) % PackBytes == 0;
      const chunk_range mine = chunks_of_group(item, chunks_of(count));
      for (std::uint64_t chunk = mine.begin; chunk < mine.end; ++chunk) {
        const auto* first = elements + chunk * chunk_elements;
        const std::uint32_t size = chunk_size(chunk, count);
        const chunk_findings all = aligned ? inspect_chunk<number, true>(item, local, first, size)
                                           : inspect_chunk<number, false>(item, local, first, size);
        if (item.get_local_id(0) == 0) findings[chunk] = all;
      }
    });
  }

 private:
  template <typename Format, bool Aligned>
  static chunk_findings inspect_chunk(sycl::nd_item<1> item, shared& local, const typename Format::bits* chunk,
                                      std::uint32_t size) {
    const chunk_findings mine = gather<Format, Aligned>(item, chunk, size);
    chunk_findings all = reduce_over_group<GroupSize>(item, local.findings, mine);
    if (all.worst_bits >= Format::infinity) {
      const chunk_findings bad = reduce_over_group<GroupSize>(item, local.findings, census<Format>(item, chunk, size));
      all.infs = bad.infs;
      all.nans = bad.nans;
      all.first_bad = bad.first_bad;
    }
    return all;
  }

  /// The hot loop. Squares are summed over blocks of packs and the blocks over the chunk: the error of a sum grows with
  /// the number of terms that enter one accumulator, here 64 + 65536 / 64 / Lanes / GroupSize instead of their product.
  template <typename Format, bool Aligned>
  static chunk_findings gather(sycl::nd_item<1> item, const typename Format::bits* chunk, std::uint32_t size) {
    constexpr unsigned lanes = PackBytes / sizeof(typename Format::bits);
    constexpr std::uint32_t block = 64 * GroupSize;
    static_assert(chunk_elements / lanes / GroupSize <= 0xffff, "16-bit lanes must be able to count their elements");
    const auto id = static_cast<std::uint32_t>(item.get_local_id(0));
    const std::uint32_t packs = size / lanes, rest = size % lanes;
    tally<Format, lanes> seen;
    pack<float, lanes> squares = 0;
    for (std::uint32_t start = 0; start < packs; start += block) {
      const std::uint32_t end = start + block < packs ? start + block : packs;
      for (std::uint32_t i = start + id; i < end; i += GroupSize) seen.add(load_pack<lanes, Aligned>(chunk, i));
      squares += seen.squares;
      seen.squares = 0;
    }
    const bool has_tail = rest != 0 && id == packs % GroupSize;
    if (has_tail) {
      seen.add(load_tail<lanes>(chunk + packs * lanes, rest));
      squares += seen.squares;
    }
    chunk_findings found = seen.total(sum_lanes<float, lanes>(squares));
    if (has_tail) found.zeros -= lanes - rest;  // the lanes that `load_tail` filled up
    return found;
  }

  /// The rare second look: how many of which kind, and where the first one is.
  template <typename Format>
  static chunk_findings census(sycl::nd_item<1> item, const typename Format::bits* chunk, std::uint32_t size) {
    chunk_findings found{};
    found.first_bad = no_bad_element;
    for (auto i = static_cast<std::uint32_t>(item.get_local_id(0)); i < size; i += GroupSize) {
      const auto magnitude = static_cast<typename Format::bits>(chunk[i] & Format::magnitude);
      if (magnitude < Format::infinity) continue;
      ++(magnitude == Format::infinity ? found.infs : found.nans);
      if (found.first_bad == no_bad_element) found.first_bad = i;
    }
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

  static void run(sycl::nd_item<1> item, shared& local, const chunk_findings* findings, std::uint64_t count,
                  element_type type, inspection* result) {
    const std::uint64_t chunks = chunks_of(count);
    totals mine;
    for (std::uint64_t chunk = item.get_local_id(0); chunk < chunks; chunk += GroupSize) {
      const chunk_findings& found = findings[chunk];
      inspection one;
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
    all.seen.elements = count;
    all.seen.findings = (all.seen.infs ? found_inf : 0u) | (all.seen.nans ? found_nan : 0u);
    all.seen.sum_of_squares = all.squares.value();
    with_format(type, [&](auto format) {
      all.seen.amax = widen<decltype(format)>(static_cast<typename decltype(format)::bits>(all.seen.worst_bits));
    });
    *result = all.seen;
  }
};

}  // namespace syclamp::kernels
