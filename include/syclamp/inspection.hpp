// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one look at the gradients tells.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

namespace syclamp {

/// Reasons not to apply a step, as bits that are combined by OR.
enum finding : std::uint32_t {
  found_nothing = 0,
  found_inf = 1u << 0,  ///< at least one element is +Inf or -Inf
  found_nan = 1u << 1,  ///< at least one element is a NaN
};

/// `inspection::first_bad` and `first_bad_tensor` when every element is finite.
inline constexpr std::uint64_t no_element = ~std::uint64_t{0};

/// The result of `inspector`: filled on the device in one read of the data.
///
/// Everything is exact but `sum_of_squares`, and everything is judged on the integer bits of the elements, so that no
/// compiler flag can change it. Two inspections of the same data by the same profile are bit-equal.
struct inspection {
  std::uint64_t elements = 0;                   ///< how many elements were read
  std::uint64_t infs = 0;                       ///< how many of them are +Inf or -Inf
  std::uint64_t nans = 0;                       ///< how many are NaN, quiet or signalling
  std::uint64_t zeros = 0;                      ///< how many are +0 or -0
  std::uint64_t subnormals = 0;                 ///< how many are subnormal in their storage type
  std::uint64_t first_bad_tensor = no_element;  ///< index in its list of the first tensor with an Inf or NaN
  std::uint64_t first_bad = no_element;         ///< lowest index of an Inf or NaN within that tensor
  std::uint32_t findings = found_nothing;       ///< OR of `finding` bits
  std::uint32_t worst_bits = 0;                 ///< the bits of `amax`
  float amax = 0.0f;                            ///< largest absolute value, exact; Inf or NaN if one was found
  float sum_of_squares = 0.0f;  ///< may be Inf although every element is finite: then `findings` stays clear

  /// True if no element is Inf or NaN.
  constexpr bool all_finite() const { return findings == found_nothing; }
};

/// Euclidean norm of the inspected elements.
double norm(const inspection& seen);

/// How many times the data could be doubled before its largest element would pass `limit` (65504 is the largest finite
/// FP16): log2(limit / amax). +Inf for data that is all zero, NaN for data that is not finite.
double headroom(const inspection& seen, double limit = 65504.0);

}  // namespace syclamp
