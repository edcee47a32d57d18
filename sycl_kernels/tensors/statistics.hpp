// SPDX-License-Identifier: Apache-2.0
// The statistics of an inspection, and how they are combined: lanes, work-items, chunks, tensors.
#pragma once

#include <type_traits>

#include "sycl_kernels/base/format.hpp"
#include "sycl_kernels/base/pack.hpp"
#include "sycl_kernels/base/wide_sum.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/walk/factor.hpp"

namespace syclamp::kernels {

inline chunk_statistics nothing_found() {
  chunk_statistics nothing{};
  nothing.first_nonfinite = no_bad_element;
  return nothing;
}

inline chunk_statistics merge(chunk_statistics a, const chunk_statistics& b) {
  a.amax_bits = a.amax_bits > b.amax_bits ? a.amax_bits : b.amax_bits;
  a.elements += b.elements;
  a.inf_count += b.inf_count;
  a.nan_count += b.nan_count;
  a.zero_count += b.zero_count;
  a.subnormal_count += b.subnormal_count;
  a.first_nonfinite = a.first_nonfinite < b.first_nonfinite ? a.first_nonfinite : b.first_nonfinite;
  a.sum_of_squares += b.sum_of_squares;
  a.abs_sum += b.abs_sum;
  return a;
}

/// The bits of an FP32 without its sign as those of an FP64: exact, and ordered alike for all formats.
inline std::uint64_t as_binary64(std::uint32_t magnitude) {
  constexpr std::uint64_t rebias = binary64.bias() - binary32.bias();
  const std::uint64_t wide = std::uint64_t{magnitude} << 29;
  if (magnitude >= format<element_type::float32>::infinity) return wide | format<element_type::float64>::infinity;
  if (magnitude >= format<element_type::float32>::smallest_normal) return wide + (rebias << 52);
  if (magnitude == 0) return 0;
  // A subnormal FP32 is a normal FP64: its highest bit becomes the hidden one.
  const unsigned down = static_cast<unsigned>(__builtin_clz(magnitude)) - 8;
  return ((wide << down) & ((std::uint64_t{1} << 52) - 1)) | (rebias + 1 - down) << 52;
}

/// The largest magnitude of a format as the bits of an FP64.
template <typename Format>
inline std::uint64_t as_binary64(typename Format::word magnitude) {
  if constexpr (sizeof magnitude == 8) {
    return magnitude;
  } else {
    const float value = widen<Format>(static_cast<typename Format::bits>(magnitude));
    return as_binary64(__builtin_bit_cast(std::uint32_t, value));
  }
}

/// The reverse, rounded to nearest; beyond the range of FP32, Inf.
inline float as_float(std::uint64_t binary64_bits) { return widen<format<element_type::float64>>(binary64_bits); }

/// In each lane, the largest magnitude, how many elements were zero, and how many were tiny: zero or subnormal. Counts
/// never exceed 65 535.
template <typename Format, unsigned Lanes>
struct magnitude_tally {
  using words = pack<typename Format::word, Lanes>;
  /// Words that are large enough hold both counts, to save registers.
  static constexpr bool shares_words = sizeof(typename Format::word) >= 4;
  using counts = pack<std::conditional_t<shares_words, std::uint32_t, typename Format::word>, Lanes>;
  words worst = 0;
  counts zero_words = 0, tiny_words = 0;

  static words magnitude_of(pack<typename Format::bits, Lanes> raw) {
    return __builtin_convertvector(raw, words) & Format::magnitude;
  }

  void add_to_largest(words magnitude) { worst = __builtin_elementwise_max(worst, magnitude); }

  /// Whether one of several packs has a tiny element: begin with `~words(0)`, call `and_least` for each, then
  /// `has_tiny`.
  static words and_least(words least, words magnitude) { return __builtin_elementwise_min(least, magnitude); }
  static bool has_tiny(words least) { return __builtin_reduce_min(least) < Format::smallest_normal; }

  void count(words magnitude) {
    const words is_zero = ones<words>(magnitude == 0), is_tiny = ones<words>(magnitude < Format::smallest_normal);
    if constexpr (shares_words) {
      tiny_words += __builtin_convertvector(is_tiny + (is_zero << 16), counts);
    } else {
      zero_words += is_zero;
      tiny_words += is_tiny;
    }
  }

  typename Format::word largest() const { return __builtin_reduce_max(worst); }
  std::uint32_t zeros() const {
    if constexpr (shares_words)
      return sum_lanes<std::uint32_t, Lanes>(tiny_words >> 16);
    else
      return sum_lanes<std::uint32_t, Lanes>(zero_words);
  }
  std::uint32_t tiny() const {
    if constexpr (shares_words)
      return sum_lanes<std::uint32_t, Lanes>(tiny_words & 0xffff);
    else
      return sum_lanes<std::uint32_t, Lanes>(tiny_words);
  }
};

/// The same in words of two elements. No sum of halves carries into the upper one.
template <typename Format, unsigned Lanes>
  requires is_handled_in_pairs<typename Format::bits, Lanes>
struct magnitude_tally<Format, Lanes> {
  using words = pack<std::uint32_t, Lanes / 2>;
  static constexpr std::uint32_t both = 0x00010001u;  ///< times a number: the number in both halves
  words lower_worst = 0, upper_worst = 0;             ///< the lower half of `upper_worst` has no meaning
  words zero_words = 0, tiny_words = 0;

  static words magnitude_of(pack<typename Format::bits, Lanes> raw) {
    return __builtin_bit_cast(words, raw) & both * Format::magnitude;
  }

  void add_to_largest(words magnitude) {
    lower_worst = __builtin_elementwise_max(lower_worst, magnitude & 0xffffu);
    upper_worst = __builtin_elementwise_max(upper_worst, magnitude);
  }

  static words and_least(words least, words magnitude) { return least & not_tiny(magnitude); }
  static bool has_tiny(words least) { return (~__builtin_reduce_and(least) & both * 0x8000u) != 0; }

  void count(words magnitude) {
    zero_words += ~not_below(magnitude, 1) >> 15 & both;
    tiny_words += ~not_tiny(magnitude) >> 15 & both;
  }

  typename Format::word largest() const {
    const std::uint32_t lower = __builtin_reduce_max(lower_worst), upper = __builtin_reduce_max(upper_worst) >> 16;
    return static_cast<typename Format::word>(lower > upper ? lower : upper);
  }
  std::uint32_t zeros() const { return sum(zero_words); }
  std::uint32_t tiny() const { return sum(tiny_words); }

 private:
  /// The highest bit of each half says whether its magnitude is `least` or larger.
  static words not_below(words magnitude, std::uint32_t least) { return magnitude + both * (0x8000u - least); }
  static words not_tiny(words magnitude) { return not_below(magnitude, Format::smallest_normal); }
  static std::uint32_t sum(words halves) {
    return sum_lanes<std::uint32_t, Lanes / 2>((halves & 0xffffu) + (halves >> 16));
  }
};

/// A sum per lane, of squares or of magnitudes.
template <unsigned Lanes>
struct lane_sums {
  pack<float, Lanes> sums = 0;

  void add_squares(pack<float, Lanes> value) { sums = __builtin_elementwise_fma(value, value, sums); }
  void add_values(pack<float, Lanes> value) { sums += value; }
  void add(const lane_sums& others) { sums += others.sums; }
  float total() const { return sum_lanes<float, Lanes>(sums); }
};

/// The same in halves: OpenCL has no functions of 32 numbers, and Intel's compiler for GPUs refuses them. In one
/// vector, compilers would join the halves again.
template <>
struct lane_sums<32> {
  lane_sums<16> lower, upper;

  void add_squares(pack<float, 32> value) {
    lower.add_squares(value.lo);
    upper.add_squares(value.hi);
  }
  void add_values(pack<float, 32> value) {
    lower.add_values(value.lo);
    upper.add_values(value.hi);
  }
  void add(const lane_sums& others) {
    lower.add(others.lower);
    upper.add(others.upper);
  }
  float total() const { return sum_lanes<float, 16>(lower.sums + upper.sums); }
};

/// What one work-item gathers, lane by lane, in the hot loop. Sums are formed over blocks of packs, and the blocks are
/// added up: the error of a sum grows with the number of terms that enter one accumulator. If a work-item has no more
/// than a block of a chunk (`Blocks` is false), there is one sum, which saves registers.
template <typename Format, unsigned Lanes, bool Blocks, bool Magnitudes>
struct tally {
  using bits = pack<typename Format::bits, Lanes>;
  using magnitude_words = typename magnitude_tally<Format, Lanes>::words;
  magnitude_tally<Format, Lanes> extremes;
  lane_sums<Lanes> squares, magnitudes, block_squares, block_magnitudes;
  std::uint32_t filled = 0;  ///< lanes that were no elements, but counted as zeros

  /// Counts the elements and returns them as FP32.
  pack<float, Lanes> add(bits raw) {
    const magnitude_words magnitude = extremes.magnitude_of(raw);
    extremes.add_to_largest(magnitude);
    extremes.count(magnitude);
    return sum_up(raw);
  }

  /// The same for several packs: `use(i, value)` gets pack i as FP32.
  ///
  /// Only if one of the elements is zero or subnormal are they counted, which is half of the instructions. The branch
  /// depends on all packs, and all packs are used after it. Without it, compilers delay loads until their packs are
  /// used, and few are under way at a time.
  template <unsigned Count, typename Use>
  [[gnu::always_inline]] void add(bits (&raw)[Count], Use use) {
    if constexpr (Count == 1) {
      use(0u, add(raw[0]));
    } else {
      magnitude_words least = ~magnitude_words(0);
#pragma unroll
      for (unsigned i = 0; i < Count; ++i) {
        const magnitude_words magnitude = extremes.magnitude_of(raw[i]);
        extremes.add_to_largest(magnitude);
        least = extremes.and_least(least, magnitude);
      }
      if (extremes.has_tiny(least)) {
#pragma unroll
        for (unsigned i = 0; i < Count; ++i) extremes.count(extremes.magnitude_of(raw[i]));
      }
#pragma unroll
      for (unsigned i = 0; i < Count; ++i) use(i, sum_up(raw[i]));
    }
  }

  /// Adds the squares of a pack and returns it as FP32.
  pack<float, Lanes> sum_up(bits raw) {
    if constexpr (Magnitudes && Lanes > 16) {
      // Numbers lose their signs before they are widened: abs would be a function of 32 numbers, see lane_sums.
      const bits unsigned_raw = raw & static_cast<typename Format::bits>(Format::magnitude);
      const pack<float, Lanes> magnitude = Format::template widen<Lanes>(unsigned_raw);
      block_squares.add_squares(magnitude);
      block_magnitudes.add_values(magnitude);
      return Format::template widen<Lanes>(raw);
    } else if constexpr (requires { Format::template widen_apart<Lanes>(raw); }) {
      const pack<float, Lanes> apart = Format::template widen_apart<Lanes>(raw);
      sum_up_values(apart);
      return Format::template in_order<Lanes>(apart);
    } else {
      const pack<float, Lanes> value = Format::template widen<Lanes>(raw);
      sum_up_values(value);
      return value;
    }
  }

  void sum_up_values(pack<float, Lanes> value) {
    block_squares.add_squares(value);
    if constexpr (Magnitudes) block_magnitudes.add_values(__builtin_elementwise_abs(value));
  }

  void end_block() {
    if constexpr (Blocks) {
      squares.add(block_squares);
      block_squares = {};
      if constexpr (Magnitudes) {
        magnitudes.add(block_magnitudes);
        block_magnitudes = {};
      }
    }
  }

  chunk_statistics total() const {
    chunk_statistics found = nothing_found();
    found.amax_bits = as_binary64<Format>(extremes.largest());
    found.zero_count = extremes.zeros() - filled;
    found.subnormal_count = extremes.tiny() - filled - found.zero_count;
    found.sum_of_squares = (Blocks ? squares : block_squares).total();
    if constexpr (Magnitudes) found.abs_sum = (Blocks ? magnitudes : block_magnitudes).total();
    return found;
  }
};

/// The combined statistics of some chunks or tensors.
struct totals {
  inspection result;
  wide_sum squares, magnitudes;
  float largest_finite = 0;
};

[[gnu::always_inline]] inline totals merge(totals a, const totals& b) {
  a.result.elements += b.result.elements;
  a.result.inf_count += b.result.inf_count;
  a.result.nan_count += b.result.nan_count;
  a.result.zero_count += b.result.zero_count;
  a.result.subnormal_count += b.result.subnormal_count;
  a.result.amax_bits = a.result.amax_bits > b.result.amax_bits ? a.result.amax_bits : b.result.amax_bits;
  const bool same_tensor = a.result.first_nonfinite_tensor == b.result.first_nonfinite_tensor;
  if (b.result.first_nonfinite_tensor < a.result.first_nonfinite_tensor ||
      (same_tensor && b.result.first_nonfinite < a.result.first_nonfinite)) {
    a.result.first_nonfinite_tensor = b.result.first_nonfinite_tensor;
    a.result.first_nonfinite = b.result.first_nonfinite;
  }
  a.result.flags |= b.result.flags;
  a.squares.add(b.squares);
  a.magnitudes.add(b.magnitudes);
  a.largest_finite = a.largest_finite > b.largest_finite ? a.largest_finite : b.largest_finite;
  return a;
}

[[gnu::always_inline]] inline totals total_of(const chunk_statistics& found) {
  totals part;
  part.result.elements = found.elements;
  part.result.inf_count = found.inf_count;
  part.result.nan_count = found.nan_count;
  part.result.zero_count = found.zero_count;
  part.result.subnormal_count = found.subnormal_count;
  part.result.amax_bits = found.amax_bits;
  part.squares = {{found.sum_of_squares, 0}, found.squares_exponent};
  part.magnitudes = {{found.abs_sum, 0}, found.abs_sum_exponent};
  part.largest_finite = found.largest_finite;
  return part;
}

/// `largest_finite` stays 0: overflow after unscaling is already in `flags`.
[[gnu::always_inline]] inline totals total_of(const inspection& result) {
  return {
      result, {{result.sum_of_squares, 0}, result.squares_exponent}, {{result.abs_sum, 0}, result.abs_sum_exponent}};
}

/// The result, with what follows from the counts.
[[gnu::always_inline]] inline inspection finished(const totals& all, scalar_argument scale) {
  constexpr std::uint32_t infinity = format<element_type::float32>::infinity;
  inspection result = all.result;
  result.amax = as_float(result.amax_bits);
  result.scale = scale.is_given() ? scale.get() : 1.0f;
  const factor_pair unscale(result.scale, factor_kind::divide);  // exactly as it will be unscaled
  result.unscaled_amax = unscale(result.amax);
  // Finite gradients that unscaling would turn into Inf or NaN are an overflow as well (law 2), also beside a NaN.
  const std::uint32_t unscaled = __builtin_bit_cast(std::uint32_t, unscale(all.largest_finite)) & 0x7fffffffu;
  const bool overflows = scale.is_given() && unscaled >= infinity;
  result.flags |= (result.inf_count != 0 || overflows ? found_inf : 0u) | (result.nan_count != 0 ? found_nan : 0u);
  const wide_sum squares = all.squares.folded(), magnitudes = all.magnitudes.folded();
  result.sum_of_squares = squares.part.sum;
  result.squares_exponent = squares.exponent;
  result.abs_sum = magnitudes.part.sum;
  result.abs_sum_exponent = magnitudes.exponent;
  return result;
}

}  // namespace syclamp::kernels
