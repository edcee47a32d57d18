// SPDX-License-Identifier: Apache-2.0
// The formats under test, described twice: for the library and for the oracle.
#pragma once

#include <cstdint>

#include "syclamp/element_type.hpp"
#include "tests/reference/numbers.hpp"

struct float16 {
  using bits = std::uint16_t;
  static constexpr syclamp::element_type type = syclamp::element_type::float16;
  static constexpr reference::number_format format = reference::binary16;
  static constexpr bits infinity = 0x7c00, sign = 0x8000, quiet_nan = 0x7e00, signalling_nan = 0x7c01;
};
struct bfloat16 {
  using bits = std::uint16_t;
  static constexpr syclamp::element_type type = syclamp::element_type::bfloat16;
  static constexpr reference::number_format format = reference::bf16;
  static constexpr bits infinity = 0x7f80, sign = 0x8000, quiet_nan = 0x7fc0, signalling_nan = 0x7f81;
};
struct float32 {
  using bits = std::uint32_t;
  static constexpr syclamp::element_type type = syclamp::element_type::float32;
  static constexpr reference::number_format format = reference::binary32;
  static constexpr bits infinity = 0x7f800000, sign = 0x80000000, quiet_nan = 0x7fc00000, signalling_nan = 0x7f800001;
};
struct float64 {
  using bits = std::uint64_t;
  static constexpr syclamp::element_type type = syclamp::element_type::float64;
  static constexpr reference::number_format format = reference::binary64;
  static constexpr bits infinity = 0x7ff0000000000000, sign = 0x8000000000000000;
  static constexpr bits quiet_nan = 0x7ff8000000000000, signalling_nan = 0x7ff0000000000001;
};
struct float8_e4m3 {  // has no Inf: the first pattern that is not a number stands in for it
  using bits = std::uint8_t;
  static constexpr syclamp::element_type type = syclamp::element_type::float8_e4m3;
  static constexpr reference::number_format format = reference::e4m3;
  static constexpr bits infinity = 0x7f, sign = 0x80, quiet_nan = 0x7f, signalling_nan = 0x7f;
};
struct float8_e5m2 {
  using bits = std::uint8_t;
  static constexpr syclamp::element_type type = syclamp::element_type::float8_e5m2;
  static constexpr reference::number_format format = reference::e5m2;
  static constexpr bits infinity = 0x7c, sign = 0x80, quiet_nan = 0x7e, signalling_nan = 0x7d;
};

/// For TEMPLATE_TEST_CASE.
#define ALL_FORMATS float16, bfloat16, float32, float64, float8_e4m3, float8_e5m2
#define OUTPUT_FORMATS float16, bfloat16, float32, float8_e4m3, float8_e5m2

/// The oracle's name for a type.
constexpr reference::number_format format_of(syclamp::element_type type) {
  switch (type) {
    case syclamp::element_type::float16: return reference::binary16;
    case syclamp::element_type::bfloat16: return reference::bf16;
    case syclamp::element_type::float32: return reference::binary32;
    case syclamp::element_type::float64: return reference::binary64;
    case syclamp::element_type::float8_e4m3: return reference::e4m3;
    case syclamp::element_type::float8_e5m2: return reference::e5m2;
  }
  return {};
}

template <typename Format>
bool same_number(std::uint64_t a, std::uint64_t b) {
  const bool both_nan = reference::decode(a, Format::format).value_kind == reference::kind::nan &&
                        reference::decode(b, Format::format).value_kind == reference::kind::nan;
  return a == b || both_nan;
}
