// SPDX-License-Identifier: Apache-2.0
// Number formats from their definitions: sign, exponent, fraction. Written to be checked by eye, not to be fast.
#pragma once

#include <cstdint>

namespace reference {

struct number_format {
  int exponent_bits;
  int fraction_bits;
};

inline constexpr number_format binary16{5, 10};
inline constexpr number_format brain16{8, 7};
inline constexpr number_format binary32{8, 23};

enum class kind { zero, subnormal, normal, infinity, nan };

struct number {
  kind what;
  double value;  ///< signed; NaN for a NaN
};

/// The bits of the number of this format that is nearest to `value`, ties to even; Inf beyond the range; a quiet NaN
/// for a NaN.
std::uint32_t encode(double value, number_format format);

number decode(std::uint32_t bits, number_format format);

}  // namespace reference
