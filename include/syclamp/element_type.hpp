// SPDX-License-Identifier: Apache-2.0
/// \file
/// The number formats in which gradients and weights are stored.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

namespace syclamp {

/// How the elements of an array are stored. Arithmetic is always done in FP32, whatever the storage.
enum class element_type : std::uint32_t {
  float16,   ///< IEEE 754 binary16: 5 exponent bits, 10 mantissa bits, largest finite value 65504
  bfloat16,  ///< the upper half of a binary32: 8 exponent bits, 7 mantissa bits
  float32,   ///< IEEE 754 binary32
};

/// Every element type, for those who iterate over them.
inline constexpr element_type element_types[] = {element_type::float16, element_type::bfloat16, element_type::float32};

/// Bytes that one element occupies.
constexpr std::uint32_t size_of(element_type type) { return type == element_type::float32 ? 4 : 2; }

/// The name by which programs and files call the type: `float16`, `bfloat16` or `float32`.
constexpr const char* name_of(element_type type) {
  switch (type) {
    case element_type::float16: return "float16";
    case element_type::bfloat16: return "bfloat16";
    case element_type::float32: return "float32";
  }
  return "unknown";
}

}  // namespace syclamp
