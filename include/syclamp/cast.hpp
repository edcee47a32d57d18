// SPDX-License-Identifier: Apache-2.0
/// \file
/// From one number format to another: FP32, FP16, BF16 and FP8 in any direction, FP64 as input.
#pragma once

#include <cstdint>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/tensor_list.hpp>

namespace SYCLAMP_NAMESPACE {

/// What a cast does with the digits that do not fit.
enum class rounding : std::uint32_t {
  to_nearest,  ///< ties to even
  stochastic,  ///< up or down at random, so that the expectation is exact (to 2^-31 of a step): small updates add up
};

struct cast_options {
  rounding rounding_mode = rounding::to_nearest;

  /// What is beyond the largest number when it is rounded, Inf included, becomes that number instead of Inf (E4M3:
  /// instead of NaN).
  bool saturate = false;

  /// Counts in device memory how many elements were beyond the largest number so, whether they were saturated or not.
  std::uint64_t* saturated = nullptr;

  /// One factor a tensor, in device memory, by which elements are multiplied before they are rounded, or divided if
  /// `divide`: scales of FP8 tensors (quantization.hpp). Null: none. Only FP8 can be divided: gradients are unscaled by
  /// `unscale`.
  const float* scales = nullptr;
  bool divide = false;

  /// Stochastic rounding is a function of the seed, the step, the tensor's index in its list and the element's index in
  /// its tensor: nothing else changes the result. `step` is in device memory; null means step 0.
  std::uint64_t seed = 0;
  const std::uint64_t* step = nullptr;
};

/// out = in, as the options say. By default values are rounded to nearest even, and values outside the range become
/// Inf (E4M3: NaN). FP64 is rounded to FP32 first. Does not wait or allocate. Dependencies and the returned event are
/// as in gradients.hpp.
/// \throws invalid_argument if the lists do not fit (see gradients.hpp), or something but FP8 is to be divided
SYCLAMP_API sycl::event cast(const tensor_list& in, const tensor_list& out, const cast_options& options = {},
                             const std::vector<sycl::event>& dependencies = {});

}  // namespace SYCLAMP_NAMESPACE
