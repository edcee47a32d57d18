// SPDX-License-Identifier: Apache-2.0
// The formats under test, told twice: as the library and as the oracle know them.
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
  static constexpr reference::number_format format = reference::brain16;
  static constexpr bits infinity = 0x7f80, sign = 0x8000, quiet_nan = 0x7fc0, signalling_nan = 0x7f81;
};
struct float32 {
  using bits = std::uint32_t;
  static constexpr syclamp::element_type type = syclamp::element_type::float32;
  static constexpr reference::number_format format = reference::binary32;
  static constexpr bits infinity = 0x7f800000, sign = 0x80000000, quiet_nan = 0x7fc00000, signalling_nan = 0x7f800001;
};
