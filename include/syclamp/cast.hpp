// SPDX-License-Identifier: Apache-2.0
/// \file
/// Casts between number formats: FP32, FP16, BF16 and FP8 in any direction, FP64 as input only.
#pragma once

#include <cstdint>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/tensor_list.hpp>

namespace SYCLAMP_NAMESPACE {

/// How a cast rounds values that the target format cannot represent.
enum class rounding : std::uint32_t {
  to_nearest,  ///< to the nearest value, ties to even
  stochastic,  ///< up or down at random, so that the expected value is exact to 2^-31 of a rounding step and small
               ///< updates add up
};

/// Options of `cast`.
struct cast_options {
  rounding rounding_mode = rounding::to_nearest;  ///< how values are rounded

  /// Clamps values outside the format's range, Inf included, to its largest finite value. Default: they become Inf
  /// (E4M3: NaN).
  bool saturate = false;

  /// Address of a counter in device memory, owned by the caller. The cast adds the number of elements outside the
  /// format's range, clamped or not. Null: no counting.
  std::uint64_t* saturated = nullptr;

  /// One scale per tensor, in device memory owned by the caller. Elements are multiplied by it before rounding, or
  /// divided if `divide` is set. Null: no scale. See `delayed_scaling` for scales of FP8 tensors.
  const float* scales = nullptr;
  bool divide = false;  ///< divides by the scale; only for FP8 input, because `unscale` is for gradients

  /// Seed of stochastic rounding. The result depends only on seed, step, the tensor's index in its list and the
  /// element's index in its tensor.
  std::uint64_t seed = 0;

  /// Address of the step number in device memory, owned by the caller. Null: step 0.
  const std::uint64_t* step = nullptr;
};

/// Casts every element of `in` to the type of `out`. By default values are rounded to nearest even, and values outside
/// the range become Inf (E4M3: NaN). FP64 is rounded to FP32 first. Does not wait or allocate.
/// \param in            tensors of any type
/// \param out           tensors of the same sizes, of any type but FP64
/// \param options       rounding, saturation and scales
/// \param dependencies  events that must be complete before the cast begins
/// \return an event that is complete when the cast is
/// \throws invalid_argument if the lists do not fit (see gradients.hpp), or `divide` is set and an input is not FP8
SYCLAMP_API sycl::event cast(const tensor_list& in, const tensor_list& out, const cast_options& options = {},
                             const std::vector<sycl::event>& dependencies = {});

}  // namespace SYCLAMP_NAMESPACE
