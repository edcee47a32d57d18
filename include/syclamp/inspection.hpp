// SPDX-License-Identifier: Apache-2.0
/// \file
/// The result of an inspection of gradients.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/clip_result.hpp>
#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Reasons to skip a step, as bits that are combined by OR.
enum gradient_flag : std::uint32_t {
  found_nothing = 0,        ///< all elements are finite
  found_inf = 1u << 0,      ///< at least one element is +Inf or -Inf, or would be after unscaling
  found_nan = 1u << 1,      ///< at least one element is a NaN
  found_by_user = 1u << 2,  ///< never set by an inspection: see `loss_scaler::device_user_flags`
};

/// `inspection::first_nonfinite` and `first_nonfinite_tensor` when every element is finite.
inline constexpr std::uint64_t no_element = ~std::uint64_t{0};

/// The result of an `inspector`, computed on the device in one pass over the data.
///
/// All fields except the sums are exact. All tests use the integer bits of the elements, so that no compiler flag can
/// change the result. Two inspections of the same data with the same profile are bit-identical.
struct SYCLAMP_API inspection {
  std::uint64_t elements = 0;                         ///< number of elements read
  std::uint64_t inf_count = 0;                        ///< number of elements that are +Inf or -Inf
  std::uint64_t nan_count = 0;                        ///< number of NaNs, quiet or signalling
  std::uint64_t zero_count = 0;                       ///< number of zeros, +0 or -0
  std::uint64_t subnormal_count = 0;                  ///< number of subnormals in the storage type
  std::uint64_t first_nonfinite_tensor = no_element;  ///< index in its list of the first tensor with an Inf or NaN
  std::uint64_t first_nonfinite = no_element;         ///< lowest index of an Inf or NaN within that tensor
  std::uint64_t amax_bits = 0;  ///< bits of the largest absolute value as an FP64: exact for every type
  float scale = 1.0f;           ///< the loss scale that was passed to the inspector
  /// Largest absolute value as an FP32: exact unless it comes from an FP64; Inf or NaN if one was found.
  float amax = 0.0f;
  float unscaled_amax = 0.0f;           ///< amax / scale
  std::uint32_t flags = found_nothing;  ///< OR of `gradient_flag` bits
  float sum_of_squares = 0.0f;          ///< sum of squares divided by 2^squares_exponent; see `norm`
  float abs_sum = 0.0f;  ///< sum of absolute values divided by 2^abs_sum_exponent; NaN with `inspection_level::list`
  std::int32_t squares_exponent = 0;  ///< 0 unless the sum of squares is too large or too small for an FP32
  std::int32_t abs_sum_exponent = 0;  ///< the same for the sum of absolute values

  /// True if no element is Inf or NaN, or would become Inf by unscaling.
  constexpr bool all_finite() const { return flags == found_nothing; }

  /// The norm of the inspected elements, not unscaled. Callable on the host only.
  /// \param kind  which norm; `l1` needs `inspection_level::tensors`
  double norm(norm_kind kind = norm_kind::l2) const;

  /// The headroom: how often the elements can be doubled until the largest exceeds the limit, log2(amax_limit / amax).
  /// Callable on the host only.
  /// \param amax_limit  default: the largest finite FP16 number
  /// \return +Inf if all elements are zero, NaN if one is not finite
  double headroom(double amax_limit = 65504.0) const;
};

}  // namespace SYCLAMP_NAMESPACE
