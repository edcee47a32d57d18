// SPDX-License-Identifier: Apache-2.0
// The number formats, as bits. To add one: a specialisation of `format` and a line in `with_format`.
#pragma once

#include "layout.hpp"
#include "pack.hpp"

namespace syclamp::kernels {

/// What a kernel needs to know of a storage type. `infinity` is the pattern of +Inf; with the sign removed, patterns
/// above it are NaNs, patterns below `smallest_normal` are subnormals or zero, and patterns are ordered like values.
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
};

template <>
struct format<element_type::bfloat16> {
  using bits = std::uint16_t;
  static constexpr bits magnitude = 0x7fff, infinity = 0x7f80, smallest_normal = 0x0080;

  template <unsigned Lanes>
  static pack<float, Lanes> widen(pack<bits, Lanes> x) {
    return __builtin_bit_cast(pack<float, Lanes>, __builtin_convertvector(x, pack<std::uint32_t, Lanes>) << 16);
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
};

/// One element. It travels as a pack of two, because OpenCL has no vectors of one.
template <typename Format>
inline float widen(typename Format::bits x) {
  return Format::template widen<2>(pack<typename Format::bits, 2>(x))[0];
}

/// Calls `action(format<type>{})` for a type that is known only at run time. All work-items of a group agree on it.
template <typename Action>
inline void with_format(element_type type, Action action) {
  switch (type) {
    case element_type::float16: return action(format<element_type::float16>{});
    case element_type::bfloat16: return action(format<element_type::bfloat16>{});
    case element_type::float32: return action(format<element_type::float32>{});
  }
}

}  // namespace syclamp::kernels
