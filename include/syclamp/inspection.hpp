// SPDX-License-Identifier: Apache-2.0
/// \file
/// The result of an inspection of gradients.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/clip_result.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Reasons not to apply a step, as bits that are combined by OR.
enum gradient_flag : std::uint32_t {
  found_nothing = 0,
  found_inf = 1u << 0,      ///< at least one element is +Inf or -Inf, or would be after unscaling
  found_nan = 1u << 1,      ///< at least one element is a NaN
  found_by_user = 1u << 2,  ///< never set by an inspection: see `loss_scaler::device_user_flags`
};

/// `inspection::first_nonfinite` and `first_nonfinite_tensor` when every element is finite.
inline constexpr std::uint64_t no_element = ~std::uint64_t{0};

/// The result of `inspector`: filled on the device in one read of the data.
///
/// Everything is exact but the sums, and everything is tested on the integer bits of the elements, so that no compiler
/// flag can change it. Two inspections of the same data by the same profile are bit-equal.
struct SYCLAMP_API inspection {
  std::uint64_t elements = 0;                         ///< how many elements were read
  std::uint64_t inf_count = 0;                        ///< how many of them are +Inf or -Inf
  std::uint64_t nan_count = 0;                        ///< how many are NaN, quiet or signalling
  std::uint64_t zero_count = 0;                       ///< how many are +0 or -0
  std::uint64_t subnormal_count = 0;                  ///< how many are subnormal in their storage type
  std::uint64_t first_nonfinite_tensor = no_element;  ///< index in its list of the first tensor with an Inf or NaN
  std::uint64_t first_nonfinite = no_element;         ///< lowest index of an Inf or NaN within that tensor
  std::uint64_t amax_bits = 0;  ///< bits of the largest absolute value as an FP64: exact for every type
  float scale = 1.0f;           ///< by which the elements are scaled, as far as the inspector was told
  float amax = 0.0f;           ///< the same as an FP32: exact unless it comes from an FP64; Inf or NaN if one was found
  float unscaled_amax = 0.0f;  ///< amax / scale
  std::uint32_t flags = found_nothing;  ///< OR of `gradient_flag` bits
  float sum_of_squares = 0.0f;          ///< to be multiplied by 2^squares_exponent; `norm` does so
  float abs_sum = 0.0f;                 ///< sum of absolute values; NaN unless the inspector was asked for details
  std::int32_t squares_exponent = 0;    ///< 0 unless the sum of squares is too large or too small for an FP32
  std::int32_t abs_sum_exponent = 0;    ///< likewise, of the sum of absolute values

  /// True if no element is Inf or NaN, and none would become so when it is unscaled.
  constexpr bool all_finite() const { return flags == found_nothing; }

  /// A norm of the inspected elements, as they are: not unscaled. For the host.
  double norm(norm_kind kind = norm_kind::l2) const;

  /// How often the elements could be doubled until the largest one exceeds `amax_limit`: log2(amax_limit / amax).
  /// The default is the largest finite FP16. +Inf if all elements are zero, NaN if one is not finite. For the host.
  double headroom(double amax_limit = 65504.0) const;
};

}  // namespace SYCLAMP_NAMESPACE
