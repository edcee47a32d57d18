// SPDX-License-Identifier: Apache-2.0
// The number formats, as bits. To add one: a specialisation of `format`; the lists of types
// (element_type.hpp) decide where it is used, and the compiler names the places where it is missing.
#pragma once

#include <iterator>
#include <type_traits>

#include "sycl_kernels/base/pack.hpp"
#include "sycl_kernels/base/round.hpp"
#include "sycl_kernels/shared/layout.hpp"

namespace syclamp::kernels {

/// The properties of a storage type that kernels need.
///
/// An element is stored as `bits` and looked at as `word`, which is wide enough to count the elements of a chunk.
/// With the sign removed (`magnitude`), patterns are ordered like values: below `smallest_normal` they are subnormals
/// or zero, above `largest` they are Inf, or NaN if they are not `infinity`. `widen` is exact but for FP64, which it
/// rounds; `narrow` rounds to nearest, ties to even, and overflows to Inf (E4M3, which has none: to NaN).
template <element_type>
struct format;

/// The patterns of FP32 numbers in a smaller format, rounded by integer arithmetic in any way.
template <typename Format, typename Words, typename Addend>
inline Words round_to(Words raw, Addend addend) {
  const Words magnitude = raw & 0x7fffffffu;
  const Words pattern = rounded<Format::shape>(magnitude, addend);
  const Words bounded = pattern > Format::largest ? Words(Format::overflow) : pattern;
  const Words sign = raw >> 31 << (Format::shape.exponent + Format::shape.fraction);
  return (magnitude > 0x7f800000u ? Words(Format::quiet_nan) : bounded) | sign;
}

template <>
struct format<element_type::float16> {
  using bits = std::uint16_t;
  using word = std::uint16_t;
  static constexpr fields shape = binary16;
  static constexpr word magnitude = 0x7fff, infinity = 0x7c00, largest = 0x7bff, smallest_normal = 0x0400;
  static constexpr word overflow = infinity, quiet_nan = 0x7e00;

  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    return __builtin_convertvector(__builtin_bit_cast(pack<_Float16, Lanes>, x), pack<float, Lanes>);
  }

  template <unsigned Lanes>
  static pack<bits, Lanes> narrow(pack<float, Lanes> x) {
    return __builtin_bit_cast(pack<bits, Lanes>, __builtin_convertvector(x, pack<_Float16, Lanes>));
  }
};

template <>
struct format<element_type::bfloat16> {
  using bits = std::uint16_t;
  using word = std::uint16_t;
  static constexpr fields shape = bf16;
  static constexpr word magnitude = 0x7fff, infinity = 0x7f80, largest = 0x7f7f, smallest_normal = 0x0080;
  static constexpr word overflow = infinity, quiet_nan = 0x7fc0;

  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    return __builtin_bit_cast(pack<float, Lanes>, __builtin_convertvector(x, pack<std::uint32_t, Lanes>) << 16);
  }

  /// For sums: the even lanes, then the odd ones. A word of two elements is cut in place.
  template <unsigned Lanes>
  static pack<float, Lanes> widen_apart(pack<bits, Lanes> x) {
    const auto pairs = __builtin_bit_cast(pack<std::uint32_t, Lanes / 2>, x);
    pack<std::uint32_t, Lanes> wide;
    wide.lo = pairs << 16;
    wide.hi = pairs & 0xffff0000u;
    return __builtin_bit_cast(pack<float, Lanes>, wide);
  }

  /// From there to the order of the elements.
  template <unsigned Lanes>
  static pack<float, Lanes> in_order(pack<float, Lanes> apart) {
    return interleave_halves(apart, std::make_index_sequence<Lanes>{});
  }

  /// A NaN stays one, made quiet. Shorter than `round_to`, because the exponents are those of FP32.
  template <unsigned Lanes>
  static pack<bits, Lanes> narrow(pack<float, Lanes> x) {
    using words = pack<std::uint32_t, Lanes>;
    const words raw = __builtin_bit_cast(words, x);
    const words rounded = raw + 0x7fffu + (raw >> 16 & 1u);
    const auto is_nan = (raw & 0x7fffffffu) > 0x7f800000u;
    return __builtin_convertvector((is_nan ? raw | 0x00400000u : rounded) >> 16, pack<bits, Lanes>);
  }
};

template <>
struct format<element_type::float32> {
  using bits = std::uint32_t;
  using word = std::uint32_t;
  static constexpr word magnitude = 0x7fffffff, infinity = 0x7f800000, largest = 0x7f7fffff;
  static constexpr word smallest_normal = 0x00800000;

  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    return __builtin_bit_cast(pack<float, Lanes>, x);
  }

  template <unsigned Lanes>
  static pack<bits, Lanes> narrow(pack<float, Lanes> x) {
    return __builtin_bit_cast(pack<bits, Lanes>, x);
  }
};

template <>
struct format<element_type::float64> {
  using bits = std::uint64_t;
  using word = std::uint64_t;
  static constexpr word magnitude = ~word{0} >> 1, infinity = word{0x7ff} << 52, largest = infinity - 1;
  static constexpr word smallest_normal = word{1} << 52;

  /// To the nearest FP32, ties to even. By integers, so that it needs no device with FP64, and by 32-bit ones: a
  /// significand of 1 + 31 bits, the last of which is sticky, is enough for correct rounding.
  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    using words = pack<std::uint32_t, Lanes>;
    constexpr std::uint32_t lowest = 1 + binary64.bias() - binary32.bias();  // exponent of the smallest normal FP32
    const words high = __builtin_convertvector(x >> 32, words), low = __builtin_convertvector(x, words), one = 1;
    const words exponent = high >> 20 & 0x7ffu;
    words significand = 0x80000000u | (high & 0xfffffu) << 11 | low >> 21 | ones<words>((low & 0x1fffffu) != 0);
    // Saturating subtractions of packs are avoided (see pack.hpp).
    const words wanted = (8 + lowest) - __builtin_elementwise_min(exponent, words(lowest));
    const words dropped = __builtin_elementwise_min(wanted, words(31));
    const words before = __builtin_elementwise_min(wanted - dropped, words(31));
    significand = significand >> before | ones<words>((significand & ((one << before) - one)) != 0);
    const words steps = significand >> dropped, rest = significand & ((one << dropped) - one);
    const words half = one << (dropped - one);
    const words up = ones<words>(rest > half) | (ones<words>(rest == half) & steps);
    const words field =
        __builtin_elementwise_min(__builtin_elementwise_max(exponent, words(lowest)), words(lowest + 254)) - lowest;
    const words pattern = __builtin_elementwise_min(steps + (up & one) + (field << 23), words(0x7f800000u));
    const words is_nan = ones<words>(exponent == 0x7ffu) & ones<words>((significand & 0x7fffffffu) != 0);
    return __builtin_bit_cast(pack<float, Lanes>, pattern | is_nan << 22 | (high & 0x80000000u));
  }
};

/// FP8: the parts in which E4M3 and E5M2 are alike.
template <typename Format, fields Shape>
struct float8 {
  using bits = std::uint8_t;
  using word = std::uint16_t;
  static constexpr fields shape = Shape;
  static constexpr word magnitude = 0x7f, smallest_normal = 1u << Shape.fraction;

  template <unsigned Lanes>
  static pack<bits, Lanes> narrow(pack<float, Lanes> x) {
    const auto raw = __builtin_bit_cast(pack<std::uint32_t, Lanes>, x);
    return __builtin_convertvector(round_to<Format>(raw, to_nearest{}), pack<bits, Lanes>);
  }
};

template <>
struct format<element_type::float8_e4m3> : float8<format<element_type::float8_e4m3>, e4m3> {
  static constexpr word largest = 0x7e, overflow = 0x7f, quiet_nan = 0x7f;
  static constexpr word infinity = 0xffff;  // no pattern: the format has no Inf

  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    using half = format<element_type::float16>;
    const auto wide = __builtin_convertvector(x, pack<std::uint16_t, Lanes>);
    // The fields at the places of FP16's, whose exponent counts from 2^-8 of this one's.
    const pack<std::uint16_t, Lanes> shifted = (wide & magnitude) << 7 | wide >> 7 << 15;
    const auto value = half::template widen<Lanes>(shifted) * 256.0f;
    using words = pack<std::uint32_t, Lanes>;
    const auto is_nan = (__builtin_convertvector(x, words) & 0x7fu) == quiet_nan;
    return __builtin_bit_cast(pack<float, Lanes>, is_nan ? words(0x7fc00000u) : __builtin_bit_cast(words, value));
  }
};

template <>
struct format<element_type::float8_e5m2> : float8<format<element_type::float8_e5m2>, e5m2> {
  static constexpr word infinity = 0x7c, largest = 0x7b, overflow = infinity, quiet_nan = 0x7e;

  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    const pack<std::uint16_t, Lanes> wide = __builtin_convertvector(x, pack<std::uint16_t, Lanes>) << 8;
    return format<element_type::float16>::widen<Lanes>(wide);
  }
};

/// One element. It travels as a pack of two, because OpenCL has no vectors of one.
template <typename Format>
inline float widen(typename Format::bits x) {
  return Format::template widen<2>(pack<typename Format::bits, 2>(x))[0];
}

/// Calls `action(format<type>{})` for a type of the list `Types` that is known only at run time. All work-items of a
/// group agree on it. For any other type nothing is called, so no memory is read as the wrong type.
/// Not a switch: AdaptiveCpp's generic target crashes on the jump table of one in a kernel with barriers.
template <const auto& Types, std::size_t Index = 0, typename Action>
[[gnu::always_inline]] inline void with_format_among(element_type type, Action action) {
  if constexpr (Index < std::size(Types)) {
    using number = format<Types[Index]>;
    static_assert(sizeof(typename number::bits) == bytes_per_element(Types[Index]),
                  "bytes_per_element() is wrong for a type");
    if (type == Types[Index]) {
      action(number{});
    } else {
      with_format_among<Types, Index + 1>(type, action);
    }
  }
}

/// The same for a type that was found to be in the list (`is_among`) before: the last type is not tested for, which
/// saves a GPU up to nine registers where the type is tested at each pack.
template <const auto& Types, std::size_t Index = 0, typename Action>
[[gnu::always_inline]] inline void with_checked_format_among(element_type type, Action action) {
  if constexpr (Index + 1 == std::size(Types)) {
    action(format<Types[Index]>{});
  } else {
    if (type == Types[Index]) {
      action(format<Types[Index]>{});
    } else {
      with_checked_format_among<Types, Index + 1>(type, action);
    }
  }
}

/// A type of a tensor list: the host has made the list from arrays that have a type, so the last one is not tested for.
/// Written out: made from the list, as above, it costs a GPU eight registers where exponents are counted.
template <typename Action>
[[gnu::always_inline]] inline void with_format(element_type type, Action action) {
  static_assert(std::size(element_types) == 6, "a type was added: add its branch");
  if (type == element_type::float16) {
    action(format<element_type::float16>{});
  } else if (type == element_type::bfloat16) {
    action(format<element_type::bfloat16>{});
  } else if (type == element_type::float32) {
    action(format<element_type::float32>{});
  } else if (type == element_type::float64) {
    action(format<element_type::float64>{});
  } else if (type == element_type::float8_e4m3) {
    action(format<element_type::float8_e4m3>{});
  } else {
    action(format<element_type::float8_e5m2>{});
  }
}

/// A type of a tensor list whose types are all among `Types`.
template <const auto& Types, typename Action>
[[gnu::always_inline]] inline void with_listed_format(element_type type, Action action) {
  if constexpr (&Types[0] == &element_types[0]) {
    with_format(type, action);
  } else {
    with_checked_format_among<Types>(type, action);
  }
}

/// Whether a type has numbers whose squares are not normal FP32 numbers.
template <typename Format>
inline constexpr bool has_wide_range =
    sizeof(typename Format::bits) > 1 && !std::is_same_v<Format, format<element_type::float16>>;

}  // namespace syclamp::kernels
