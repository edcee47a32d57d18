// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scales for tensors in FP8 or INT8, and fake quantisation.
///
/// A quantised number is a number times the scale of its tensor, rounded to a small format. The scale follows the
/// largest absolute values (amax) of the tensor on the last steps, so that they just fit:
///
///     inspector inspector(tensors, inspection_level::tensors);
///     delayed_scaling scales(fp8_tensors);       // once
///     cast(tensors, fp8_tensors, scales.quantize());  // each step: with the scales of earlier steps
///     inspector.run();
///     scales.update(inspector);                  // for the next step
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <syclamp/cast.hpp>
#include <syclamp/export.hpp>
#include <syclamp/inspector.hpp>
#include <syclamp/tensor_list.hpp>

namespace SYCLAMP_NAMESPACE {

/// Scales for the tensors of a list, on the device. One kernel updates all scales.
///
///     scale = limit / amax · 2^-margin
///
/// The limit is that of the format (E4M3 448, E5M2 57344, INT8 127). An amax of 0, Inf or NaN keeps the scale. Inf and
/// NaN are not entered into the history. (In Transformer Engine they are, and the scale does not move until they leave
/// the history.) A scale stays between 2^-126 and the largest FP32.
///
/// The memory is 4 bytes per tensor and step of the history, and 12 bytes per tensor.
class SYCLAMP_API delayed_scaling {
 public:
  /// How scales follow amax.
  struct settings {
    std::uint32_t history = 1024;  ///< number of steps in the history
    int margin = 0;                ///< doublings that are left free above amax
    bool latest_only = false;      ///< uses the latest amax instead of the largest in the history
  };

  /// The limit of INT8, whose range is symmetric: -127 to 127.
  static constexpr float int8_limit = 127.0f;

  /// Makes scales for tensors whose type has a limit. Allocates.
  /// \param quantized  the FP8 or FP16 tensors that will hold quantised numbers
  /// \throws invalid_argument if a tensor is neither FP8 nor FP16
  explicit delayed_scaling(const tensor_list& quantized) : delayed_scaling(quantized, settings{}) {}
  /// \overload
  delayed_scaling(const tensor_list& quantized, const settings& options);

  /// Makes scales for integers in [-limit, limit], one per tensor of a list of any type. If the tensors are channels,
  /// the scales are per channel. Allocates.
  /// \throws invalid_argument if the limit is not positive and finite
  delayed_scaling(const tensor_list& tensors, float limit, const settings& options);

  // Moving is copying, so that a handle that was moved from stays usable.
  delayed_scaling(const delayed_scaling&) = default;
  delayed_scaling(delayed_scaling&& other) noexcept : delayed_scaling(other) {}  // NOLINT(performance-move-*)
  delayed_scaling& operator=(const delayed_scaling&) = default;
  delayed_scaling& operator=(delayed_scaling&& other) noexcept { return *this = other; }

  /// Updates all scales from an inspection of the tensors before quantisation. Does not wait or allocate.
  /// \param inspector     an inspector of a list with the same number of tensors, with `inspection_level::tensors`
  /// \param dependencies  events that must be complete before the operation begins
  /// \return an event that is complete when the operation is
  /// \throws invalid_argument if the inspector does not fit
  sycl::event update(const inspector& inspector, const std::vector<sycl::event>& dependencies = {}) const;

  /// Options for a cast to the small format: multiplies by the scales and saturates.
  cast_options quantize() const;
  /// Options for a cast from the small format: divides by the scales.
  cast_options dequantize() const;

  const float* device_scales() const;     ///< one scale per tensor, in device memory; initially 1
  const float* device_limits() const;     ///< one limit per tensor, in device memory, reduced by the margin
  std::vector<float> scales() const;      ///< the scales; waits
  float limit(std::size_t tensor) const;  ///< the limit of a tensor
  std::size_t size() const;               ///< number of tensors

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

/// Rounds every element as if it were stored as an integer: out = clamp(round(in · scale), -limit, limit) / scale, in
/// the type of `out`. Ties round to even; NaN stays NaN. Does not wait or allocate.
/// \param in            tensors of any type
/// \param out           tensors of the same sizes; may be `in`
/// \param scaling       one scale per tensor
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when the operation is
/// \throws invalid_argument if the lists do not fit (see gradients.hpp), or the number of scales is not the number of
///         tensors
SYCLAMP_API sycl::event fake_quantize(const tensor_list& in, const tensor_list& out, const delayed_scaling& scaling,
                                      const std::vector<sycl::event>& dependencies = {});

/// The straight-through gradient of `fake_quantize`: the gradient of the output where the input was in range, else 0.
/// Gradients may be scaled and stay scaled. Does not wait or allocate.
/// \param in            the input of `fake_quantize`
/// \param gradient_out  gradients with respect to its output
/// \param gradient_in   receives the gradients with respect to `in`; may be `gradient_out`
/// \param scaling       one scale per tensor
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when the operation is
/// \throws invalid_argument as `fake_quantize` does
SYCLAMP_API sycl::event fake_quantize_gradient(const tensor_list& in, const tensor_list& gradient_out,
                                               const tensor_list& gradient_in, const delayed_scaling& scaling,
                                               const std::vector<sycl::event>& dependencies = {});

}  // namespace SYCLAMP_NAMESPACE
