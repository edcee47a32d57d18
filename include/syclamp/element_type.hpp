// SPDX-License-Identifier: Apache-2.0
/// \file
/// The number formats in which gradients and weights are stored.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// The storage format of an array's elements. Arithmetic is always in FP32.
enum class element_type : std::uint32_t {
  float16,   ///< IEEE 754 binary16: 5 exponent bits, 10 mantissa bits, largest finite value 65504
  bfloat16,  ///< the upper half of a binary32: 8 exponent bits, 7 mantissa bits
  float32,   ///< IEEE 754 binary32
  float64,   ///< IEEE 754 binary64: input only, read by integer arithmetic on any device; only `clear_gradients` writes
             ///< it
  float8_e4m3,  ///< OCP E4M3: largest value 448, NaN but no Inf
  float8_e5m2,  ///< OCP E5M2: the upper half of a binary16, largest finite value 57344
};

/// All element types.
inline constexpr element_type element_types[] = {element_type::float16,     element_type::bfloat16,
                                                 element_type::float32,     element_type::float64,
                                                 element_type::float8_e4m3, element_type::float8_e5m2};

/// The types of gradients that an optimizer accepts. Inspections and conversions accept every type.
inline constexpr element_type gradient_types[] = {element_type::float16, element_type::bfloat16, element_type::float32};

/// The types of matrices that gemm, layers and losses accept.
inline constexpr element_type matrix_types[] = {element_type::float16, element_type::bfloat16, element_type::float32};

/// The types in which models are trained. The program measures these.
inline constexpr element_type training_types[] = {element_type::float16, element_type::bfloat16, element_type::float32};

/// The size of one element in bytes.
constexpr std::uint32_t bytes_per_element(element_type type) {
  const bool is_small = type == element_type::float8_e4m3 || type == element_type::float8_e5m2;
  return is_small ? 1 : type == element_type::float64 ? 8 : type == element_type::float32 ? 4 : 2;
}

/// The largest finite value of a type. For `float64`, the largest FP32, because its values are used as FP32.
constexpr float max_finite(element_type type) {
  if (type == element_type::float16) return 65504.0f;
  if (type == element_type::bfloat16) return 0x1.fep127f;
  if (type == element_type::float8_e4m3) return 448.0f;
  if (type == element_type::float8_e5m2) return 57344.0f;
  return 0x1.fffffep127f;
}

/// The name of a type in programs and files: `float16`, `bfloat16`, `float32`, …
constexpr const char* to_string(element_type type) {
  switch (type) {
    case element_type::float16: return "float16";
    case element_type::bfloat16: return "bfloat16";
    case element_type::float32: return "float32";
    case element_type::float64: return "float64";
    case element_type::float8_e4m3: return "float8_e4m3";
    case element_type::float8_e5m2: return "float8_e5m2";
  }
  return "unknown";
}
static_assert(to_string(static_cast<element_type>(sizeof element_types / sizeof element_types[0]))[0] == 'u',
              "a type was added: add it to `element_types`, `bytes_per_element` and `max_finite`");

}  // namespace SYCLAMP_NAMESPACE
