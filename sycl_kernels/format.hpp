// SPDX-License-Identifier: Apache-2.0
// The number formats, as bits. To add one: a specialisation of `format` and a line in `with_format`.
#pragma once

#include "layout.hpp"
#include "pack.hpp"

namespace syclamp::kernels {

/// What a kernel needs to know of a storage type. `infinity` is the pattern of +Inf; with the sign removed, patterns
/// above it are NaNs, patterns below `smallest_normal` are subnormals or zero, and patterns are ordered like values.
/// `widen` is exact; `narrow` rounds to nearest, ties to even, and overflows to Inf.
template <element_type>
struct format;

template <>
struct format<element_type::float16> {
  using bits = std::uint16_t;
  static constexpr bits magnitude = 0x7fff, infinity = 0x7c00, smallest_normal = 0x0400;

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
  static constexpr bits magnitude = 0x7fff, infinity = 0x7f80, smallest_normal = 0x0080;

  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    return __builtin_bit_cast(pack<float, Lanes>, __builtin_convertvector(x, pack<std::uint32_t, Lanes>) << 16);
  }

  /// To nearest, ties to even, by integer arithmetic; a NaN stays one, made quiet.
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
  static constexpr bits magnitude = 0x7fffffff, infinity = 0x7f800000, smallest_normal = 0x00800000;

  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    return __builtin_bit_cast(pack<float, Lanes>, x);
  }

  template <unsigned Lanes>
  static pack<bits, Lanes> narrow(pack<float, Lanes> x) {
    return __builtin_bit_cast(pack<bits, Lanes>, x);
  }
};

/// One element. It travels as a pack of two, because OpenCL has no vectors of one.
template <typename Format>
inline float widen(typename Format::bits x) {
  return Format::template widen<2>(pack<typename Format::bits, 2>(x))[0];
}

/// Calls `action(format<type>{})` for a type that is known only at run time. All work-items of a group agree on it.
template <typename Action>
[[gnu::always_inline]] inline void with_format(element_type type, Action action) {
  // Not a switch: AdaptiveCpp's generic target crashes on the jump table of one in a kernel with barriers.
  if (type == element_type::float16) {
    action(format<element_type::float16>{});
  } else if (type == element_type::bfloat16) {
    action(format<element_type::bfloat16>{});
  } else {
    action(format<element_type::float32>{});
  }
}

}  // namespace syclamp::kernels
