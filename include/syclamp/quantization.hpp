// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scales for tensors in FP8 or INT8, and fake quantisation.
///
/// A quantised number is the number times the scale of its tensor, rounded to a small format. The scale follows the
/// largest absolute values (amax) that the tensor had on the last steps, so that they just fit:
///
///     inspector look(tensors, inspection_level::tensors);
///     delayed_scaling scales(fp8_tensors);       // once
///     cast(tensors, fp8_tensors, scales.quantize());  // each step: with the scales of the steps before
///     look();
///     scales.update(look);                       // for the next step
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

/// Scales of the tensors of a list, on the device, updated for all of them in one kernel.
///
///     scale = limit / amax · 2^-margin
///
/// with the limit of the format (E4M3 448, E5M2 57344, INT8 127). An amax of 0 keeps the scale; so does one that is Inf
/// or NaN, which is forgotten then: it does not stay in the history. (In Transformer Engine it does, and keeps the
/// scale for as long as the history remembers it.) A scale stays between 2^-126 and the largest FP32.
///
/// Takes 4 bytes a tensor for each step of the history, and 12 more.
class SYCLAMP_API delayed_scaling {
 public:
  struct settings {
    std::uint32_t history = 1024;  ///< how many steps are remembered
    int margin = 0;                ///< powers of two that are left free above amax
    bool latest_only = false;      ///< amax is the latest one, not the largest of the history
  };

  /// The range of INT8, which is symmetric: -127 to 127.
  static constexpr float int8_limit = 127.0f;

  /// Scales for tensors whose types have a limit of their own.
  /// \throws invalid_argument if a tensor is neither FP8 nor FP16
  explicit delayed_scaling(const tensor_list& quantized) : delayed_scaling(quantized, settings{}) {}
  delayed_scaling(const tensor_list& quantized, const settings& options);

  /// Scales for integers in [-limit, limit], one for each tensor of a list of any type; per channel, if the tensors of
  /// the list are channels.
  delayed_scaling(const tensor_list& tensors, float limit, const settings& options);

  // Moving is copying, so that a handle that was moved from stays usable.
  delayed_scaling(const delayed_scaling&) = default;
  delayed_scaling(delayed_scaling&& other) noexcept : delayed_scaling(other) {}  // NOLINT(performance-move-*)
  delayed_scaling& operator=(const delayed_scaling&) = default;
  delayed_scaling& operator=(delayed_scaling&& other) noexcept { return *this = other; }

  /// Moves all scales, from an inspection of the tensors before they were quantised. Does not wait or allocate.
  /// Dependencies and the returned event are as in gradients.hpp.
  /// \param inspector  of a list with as many tensors, with `inspection_level::tensors`
  sycl::event update(const inspector& inspector, const std::vector<sycl::event>& dependencies = {}) const;

  /// Options of a cast to the small format, with saturation, and of one back.
  cast_options quantize() const;
  cast_options dequantize() const;

  const float* device_scales() const;  ///< one a tensor; 1 at the beginning
  const float* device_limits() const;  ///< one a tensor, less the margin
  std::vector<float> scales() const;   ///< waits
  float limit(std::size_t tensor) const;
  std::size_t size() const;  ///< number of tensors

 private:
  struct impl;
  std::shared_ptr<impl> impl_;
};

/// out = what integers would keep of in: round(in · scale) in [-limit, limit], divided by the scale; in the type of
/// `out`. Ties to even; a NaN stays a NaN. Does not wait or allocate. Dependencies and the returned event are as in
/// gradients.hpp.
/// \throws invalid_argument if the lists do not fit (see gradients.hpp), or there are not as many scales as tensors
SYCLAMP_API sycl::event fake_quantize(const tensor_list& in, const tensor_list& out, const delayed_scaling& scaling,
                                      const std::vector<sycl::event>& dependencies = {});

/// The gradient of `fake_quantize` as if nothing had been rounded: that of the output where the input was in the range,
/// else 0. Gradients may be scaled, and are as much so afterwards; `gradient_in` may be `gradient_out`.
/// \throws invalid_argument as `fake_quantize` does
SYCLAMP_API sycl::event fake_quantize_gradient(const tensor_list& in, const tensor_list& gradient_out,
                                               const tensor_list& gradient_in, const delayed_scaling& scaling,
                                               const std::vector<sycl::event>& dependencies = {});

}  // namespace SYCLAMP_NAMESPACE
