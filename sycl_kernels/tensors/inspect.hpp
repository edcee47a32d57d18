// SPDX-License-Identifier: Apache-2.0
// inspect: reads every element once and finds Inf, NaN, the largest magnitude, the sum of squares, zeros and
// subnormals.
//
//   inspect_chunks   many work-groups   tensors → chunk_statistics[], one per chunk
//   inspect_total    one work-group     chunk_statistics[] → inspection
//
// With the details of each tensor (inspect_tensors.hpp) there are more records and other kernels, but the same maths.
// Two things are left out of the hot loop, because a chunk that needs them can be read a second time, from cache:
// counting Inf and NaN and finding the first, if the largest pattern is not that of a finite number (`census`); and
// summing up numbers whose squares leave the range of FP32 (`sums_in_unit`).
#pragma once

#include <type_traits>

#include "sycl_kernels/base/counter.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/tensors/statistics.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

/// Lanes of a pack that an inspection reads at a time. FP8 and FP64, which gradients rarely are, have packs of their
/// own length.
template <typename Format, reduction_tuning Tuning>
constexpr unsigned inspected_lanes() {
  constexpr unsigned size = sizeof(typename Format::bits), fit = Tuning.pack_bytes / size;
  constexpr unsigned most = size == 1 || size == 8 ? Tuning.max_rare_lanes : Tuning.max_lanes;
  return fit < most ? fit : most;
}

/// Packs that an inspection loads before it uses the first one. Rare types have one, to compile faster.
template <typename Format, unsigned Lanes, reduction_tuning Tuning>
constexpr unsigned inspected_at_once() {
  constexpr unsigned size = sizeof(typename Format::bits);
  return size == 1 || size == 8 ? 1 : packs_in_flight(Tuning.bytes_in_flight, Lanes * size);
}

template <typename Format, unsigned Lanes, reduction_tuning Tuning, bool Magnitudes>
using tally_for =
    tally<Format, Lanes, (chunk_elements / Lanes / Tuning.group_size > Tuning.packs_per_block), Magnitudes>;

/// The second reading of a piece that is not finite: how many elements are bad in which way, where the first one is,
/// and as `amax_bits` the largest of the others.
template <unsigned GroupSize, const auto& Types = element_types>
[[gnu::always_inline]] inline chunk_statistics census(const work_item& item, const segment& piece) {
  chunk_statistics found = nothing_found();
  with_listed_format<Types>(piece.type(), [&](auto format) __attribute__((always_inline)) {
    using number = decltype(format);
    using word = typename number::word;
    const auto* elements = piece.data<number>();
    word largest = 0;
    for (std::uint32_t i = item.id; i < piece.count(); i += GroupSize) {
      const auto magnitude = static_cast<word>(elements[i] & number::magnitude);
      const bool is_bad = magnitude > number::largest, is_inf = magnitude == number::infinity;
      found.inf_count += is_bad && is_inf;
      found.nan_count += is_bad && !is_inf;
      if (is_bad && found.first_nonfinite == no_bad_element) found.first_nonfinite = piece.offset_in_chunk() + i;
      if (!is_bad && magnitude > largest) largest = magnitude;
    }
    found.amax_bits = as_binary64<number>(largest);
  });
  return found;
}

/// The same of FP32 elements that were unscaled in place, and counted before that. If a finite one has become Inf, the
/// largest finite one was large enough to do so.
template <unsigned GroupSize>
[[gnu::always_inline]] inline chunk_statistics census_of_unscaled(const work_item& item, const segment& piece) {
  using number = format<element_type::float32>;
  const auto* elements = piece.data<number>();
  bool has_inf = false;
#pragma nounroll
  for (std::uint32_t i = item.id; i < piece.count(); i += GroupSize)
    has_inf = has_inf || (elements[i] & number::magnitude) == number::infinity;
  chunk_statistics found = nothing_found();
  found.amax_bits = has_inf ? as_binary64<number>(number::largest) : 0;
  return found;
}

/// The unit in which the squares of a finite chunk have to be added up: 0 if the plain sum will do.
inline std::int32_t needed_unit(const chunk_statistics& found) {
  const float largest = as_float(found.amax_bits);
  if (!is_finite(largest) || largest == 0.0f) return 0;  // Inf: an FP64 that no FP32 can hold
  return !is_finite(found.sum_of_squares) ? sum_unit : found.sum_of_squares < small_sum ? -sum_unit : 0;
}

/// Reads a piece again whose squares are outside the range of FP32, and sums them in units of 2^unit. FP16 and FP8
/// are left out. Next to squares above 2^128 theirs are negligible; where the sum is below 2^-100 all their elements
/// are zero.
/// \param scale  by which the elements are multiplied: not 1 if they were unscaled in place before
template <reduction_tuning Tuning, bool Magnitudes, const auto& Types = element_types>
[[gnu::always_inline]] inline chunk_statistics sums_in_unit(const work_item& item, const segment& piece,
                                                            std::int32_t unit, float scale) {
  // The fourth root of the unit: with one before and one after the scale, no product on the way leaves the range.
  const float root = unit > 0 ? 0x1p-50f : 0x1p50f;
  constexpr unsigned lanes = Tuning.second_pass_lanes;
  using values = pack<float, lanes>;
  values squares = 0, lost = 0, magnitudes = 0;
  with_format_among<Types>(piece.type(), [&]<typename Format>(Format) __attribute__((always_inline)) {
    if constexpr (has_wide_range<Format>) {
      const typed_stream<Format> elements{piece.address()};
      for_each_pack<lanes, Tuning.group_size>(item, piece, false, [&](auto place) __attribute__((always_inline)) {
        const values x = elements.template load<lanes>(place) * root * scale * root, square = x * x;
        lost += rounding_loss(squares, square);
        squares += square;
        if constexpr (Magnitudes) magnitudes += __builtin_elementwise_abs(x) * root * root;
      });
    }
  });
  chunk_statistics found = nothing_found();
  found.sum_of_squares = sum_lanes<float, lanes>(squares + lost);
  if constexpr (Magnitudes) found.abs_sum = sum_lanes<float, lanes>(magnitudes);
  return found;
}

/// Makes a record of what the work-items of a group have put into `shared`, after a second reading if that is needed:
/// `count_bad()` is a census, `sum_up(unit)` returns sums in another unit.
template <unsigned GroupSize, typename CountBad, typename SumUp>
[[gnu::always_inline]] inline void report(const work_item& item, chunk_statistics* shared, chunk_statistics& record,
                                          CountBad count_bad, SumUp sum_up) {
  const chunk_statistics all = reduce_over_group<GroupSize>(item, shared);
  if (item.id == 0) {
    record = all;
    record.largest_finite = as_float(all.amax_bits);
  }
  const bool is_bad = all.amax_bits >= format<element_type::float64>::infinity;
  const std::int32_t unit = is_bad ? 0 : needed_unit(all);
  if (is_bad) {
    shared[item.id] = count_bad();
    const chunk_statistics bad = reduce_over_group<GroupSize>(item, shared);
    if (item.id == 0) {
      record.inf_count = bad.inf_count;
      record.nan_count = bad.nan_count;
      record.first_nonfinite = bad.first_nonfinite;
      record.largest_finite = as_float(bad.amax_bits);
    }
  }
  if (unit != 0) {
    shared[item.id] = sum_up(unit);
    const chunk_statistics sums = reduce_over_group<GroupSize>(item, shared);
    if (item.id == 0) {
      record.sum_of_squares = sums.sum_of_squares;
      record.squares_exponent = static_cast<std::int16_t>(unit);
      if (!is_finite(all.abs_sum)) {
        record.abs_sum = sums.abs_sum;
        record.abs_sum_exponent = static_cast<std::int16_t>(unit);
      }
    }
  }
}

/// The side effect of an inspection on the elements: none. (Another such effect is in unscale.hpp.)
struct only_looking {
  void begin_chunk() const {}

  /// Calls `add` with what is to be done with the packs of a piece.
  template <typename Format, typename Add>
  [[gnu::always_inline]] void act_on(const segment&, Add add) const {
    add(*this);
  }
  bool is_aligned(unsigned) const { return true; }
  template <unsigned Lanes, typename Place, typename Bits>
  void operator()(const Place&, Bits, pack<float, Lanes>) const {}

  /// What was bad among the elements of a chunk that have been overwritten since.
  chunk_statistics counted() const { return nothing_found(); }
  bool has_overwritten(const segment&) const { return false; }
  /// By which elements that were overwritten have been divided.
  float scale() const { return 1.0f; }
};

/// Adds a piece to a tally, and does `also` with it.
template <reduction_tuning Tuning, typename Format, unsigned Lanes, bool Blocks, bool Magnitudes, typename Also>
[[gnu::always_inline]] inline void add_packs(const work_item& item, const segment& piece,
                                             tally<Format, Lanes, Blocks, Magnitudes>& counts, const Also& also) {
  constexpr unsigned group_size = Tuning.group_size;
  const auto* elements = piece.array<Format>();
  const std::uint64_t begin = piece.first_element();
  const std::uint32_t packs = piece.count() / Lanes, rest = piece.count() % Lanes;
  const std::uint32_t first = first_pack<group_size, Lanes>(item, piece);
  const auto whole_packs = [&]<bool Aligned>(std::bool_constant<Aligned>) __attribute__((always_inline)) {
    constexpr std::uint32_t block = Blocks ? Tuning.packs_per_block * group_size : chunk_elements;
    for (std::uint32_t start = first; start < packs; start += block) {
      const std::uint32_t end = Blocks && start + block < packs ? start + block : packs;
      for_packs<Aligned ? inspected_at_once<Format, Lanes, Tuning>() : 1, group_size>(  // the hot loop
          first, start, end,
          [&](std::uint32_t i) __attribute__((always_inline)) { return whole_pack<Lanes, Aligned>{begin + i * Lanes}; },
          [&](auto place) __attribute__((always_inline)) { return place.read(elements); },
          [&](auto place_of, auto& raw) __attribute__((always_inline)) {
            counts.add(raw, [&](unsigned i, pack<float, Lanes> value) __attribute__((always_inline)) {
              also.template operator()<Lanes>(place_of(i), raw[i], value);
            });
          });
      counts.end_block();
    }
  };
  // Unaligned loads cost a CPU nothing; a GPU loads lane by lane then.
  if (group_size > 1 && piece.is_aligned(Lanes * sizeof *elements) && also.is_aligned(Lanes)) {
    whole_packs(std::bool_constant<true>{});
  } else {
    whole_packs(std::bool_constant<false>{});
  }
  if (rest != 0 && first == packs % group_size) {
    const part_of_pack<Lanes> place{begin + std::uint64_t{packs} * Lanes, rest};
    const auto raw = place.read(elements);
    also.template operator()<Lanes>(place, raw, counts.add(raw));
    counts.end_block();
    counts.filled += Lanes - rest;
  }
}

template <reduction_tuning Tuning, typename Format, unsigned Lanes, bool Blocks, bool Magnitudes, typename Effect>
[[gnu::always_inline]] inline void add_piece(const work_item& item, const segment& piece,
                                             tally<Format, Lanes, Blocks, Magnitudes>& counts, const Effect& effect) {
  effect.template act_on<Format>(
      piece, [&](const auto& also) __attribute__((always_inline)) { add_packs<Tuning>(item, piece, counts, also); });
}

/// The chunks of a list whose types are among `Types`, one record each. `Effect` is what else is done with the elements
/// on the way.
template <reduction_tuning Tuning, const auto& Types = element_types>
struct chunk_walk {
  struct shared {
    chunk_statistics statistics[Tuning.group_size];
  };

  template <typename Effect>
  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const tensor_table& table,
                                         chunk_statistics* statistics, const Effect& effect) {
    const chunk_range mine = chunks_of_group(item, table);
    for (std::uint32_t chunk = mine.begin; chunk < mine.end; ++chunk) {
      effect.begin_chunk();
      gather(item, local.statistics[item.id], table, chunk, effect);
      const auto count_bad = [&]() __attribute__((always_inline)) {
        chunk_statistics bad = effect.counted();
        for (segment piece(table, chunk); piece.exists(); piece.next())
          bad = merge(bad, effect.has_overwritten(piece) ? census_of_unscaled<Tuning.group_size>(item, piece)
                                                         : census<Tuning.group_size, Types>(item, piece));
        return bad;
      };
      const auto sum_up = [&](std::int32_t unit) __attribute__((always_inline)) {
        chunk_statistics sums = nothing_found();
        for (segment piece(table, chunk); piece.exists(); piece.next()) {
          const float scale = effect.has_overwritten(piece) ? effect.scale() : 1.0f;
          sums = merge(sums, sums_in_unit<Tuning, false, Types>(item, piece, unit, scale));
        }
        return sums;
      };
      report<Tuning.group_size>(item, local.statistics, statistics[chunk], count_bad, sum_up);
    }
  }

 private:
  /// What is found is put together in local memory: in registers it would be in the way of the hot loop.
  template <typename Effect>
  [[gnu::always_inline]] static void gather(const work_item& item, chunk_statistics& found, const tensor_table& table,
                                            std::uint32_t chunk, const Effect& effect) {
    found = nothing_found();
    for (segment piece(table, chunk); piece.exists();)
      with_listed_format<Types>(piece.type(), [&](auto format) __attribute__((always_inline)) {
        found = merge(gather_type<decltype(format)>(item, piece, effect), found);
      });
  }

  /// Pieces of one type that follow each other, in the same accumulators: thousands of small tensors cost no more than
  /// one.
  template <typename Format, typename Effect>
  [[gnu::always_inline]] static chunk_statistics gather_type(const work_item& item, segment& piece,
                                                             const Effect& effect) {
    constexpr unsigned lanes = inspected_lanes<Format, Tuning>();
    static_assert(chunk_elements / lanes / Tuning.group_size + chunk_elements / tensor_alignment <= 0xffff,
                  "16-bit lanes must be able to count their elements");
    const element_type type = piece.type();
    tally_for<Format, lanes, Tuning, false> counts;
    std::uint32_t elements = 0;
    do {
      add_piece<Tuning>(item, piece, counts, effect);
      elements += piece.count();
      piece.next();
    } while (piece.exists() && piece.type() == type);
    chunk_statistics found = counts.total();
    found.elements = item.id == 0 ? elements : 0;
    return found;
  }
};

template <reduction_tuning Tuning>
struct inspect_chunks {
  using walk = chunk_walk<Tuning>;
  using shared = typename walk::shared;

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         chunk_statistics* statistics) {
    walk::run(item, local, {addresses, starts, kinds, tensors}, statistics, only_looking{});
  }
};

template <reduction_tuning Tuning>
struct inspect_total {
  /// Not all work-items of a large group add up: local memory for all of them would keep other groups from running
  /// where this is the end of a kernel that reads everything (inspect_step.hpp).
  static constexpr unsigned adders = Tuning.adders;
  static_assert(adders <= Tuning.group_size);

  struct shared {
    totals all[adders];
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const chunk_statistics* statistics,
                                         const std::uint64_t* starts, std::uint32_t tensors, const float* scale,
                                         float scale_value, inspection* result) {
    const std::uint32_t chunks = chunks_of(starts[tensors]);
    totals mine;
    for (std::uint32_t chunk = item.id < adders ? item.id : chunks; chunk < chunks; chunk += adders) {
      totals part = total_of(statistics[chunk]);
      if (statistics[chunk].first_nonfinite != no_bad_element)
        part.result.first_nonfinite =
            std::uint64_t{chunk} * chunk_elements + statistics[chunk].first_nonfinite;  // among all tensors
      mine = merge(mine, part);
    }
    if (item.id < adders) local.all[item.id] = mine;
    totals all = reduce_over_group<adders>(item, local.all);
    if (item.id != 0) return;
    if (all.result.first_nonfinite != no_element) {
      all.result.first_nonfinite_tensor = tensor_at(starts, tensors, all.result.first_nonfinite);
      all.result.first_nonfinite -= starts[all.result.first_nonfinite_tensor];
    }
    inspection summary = finished(all, {scale, scale_value});
    summary.abs_sum = __builtin_bit_cast(float, 0x7fc00000u);  // was not asked for: a NaN, not a number
    *result = summary;
  }
};

}  // namespace syclamp::kernels
