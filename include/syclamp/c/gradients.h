// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: element-wise operations on lists of gradients. Only `syclamp_clip_result` waits.
///
/// The two lists of an operation have the same number of tensors with the same sizes. `out` may be `in` if the types
/// are equal. If a parameter `device_…` is not null, the device reads the number at this address, and the parameter
/// before it is not used.
#ifndef SYCLAMP_C_GRADIENTS_H
#define SYCLAMP_C_GRADIENTS_H

#include <syclamp/c/base.h>
#include <syclamp/c/inspector.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Unscales gradients: out = in / scale, in FP32.
/// \param unscaled  receives the unscaled gradients, for clipping; may be null
SYCLAMP_C_API syclamp_status syclamp_unscale(syclamp_tensor_list in, syclamp_tensor_list out, float scale,
                                             const float* device_scale, syclamp_unscaled* unscaled);

/// Multiplies by a factor: out = in * factor, rounded to the type of `out`.
SYCLAMP_C_API syclamp_status syclamp_scale(syclamp_tensor_list in, syclamp_tensor_list out, float factor,
                                           const float* device_factor);

/// Adds unscaled gradients to a sum: sum += in / scale, in FP32.
/// \param overflow_check  an inspector of `in`: if its last run found an Inf or NaN, nothing is added; may be null
/// \param unscaled        receives the sums, for clipping; may be null
SYCLAMP_C_API syclamp_status syclamp_accumulate(syclamp_tensor_list in, syclamp_tensor_list sum, float scale,
                                                const float* device_scale, syclamp_inspector overflow_check,
                                                syclamp_unscaled* unscaled);

/// Sets every element to zero.
/// \param overflow_check  an inspector: if its last run found no Inf or NaN, nothing is written; may be null
SYCLAMP_C_API syclamp_status syclamp_clear(syclamp_tensor_list list, syclamp_inspector overflow_check);

// --- Casts ----------------------------------------------------------------------------------------------------------

/// How a cast rounds.
typedef int32_t syclamp_rounding;
enum { SYCLAMP_ROUND_TO_NEAREST = 0, SYCLAMP_ROUND_STOCHASTIC = 1 };

/// Options of a cast. All may be 0.
typedef struct syclamp_cast_options {
  size_t struct_size;           ///< sizeof(syclamp_cast_options)
  syclamp_rounding rounding;    ///< how values are rounded
  int32_t saturate;             ///< 1: clamps values outside the range instead of making Inf
  int32_t divide;               ///< 1: divides by the scales instead of multiplying; only for FP8 input
  int32_t reserved;             ///< 0
  uint64_t seed;                ///< of stochastic rounding
  uint64_t* device_saturated;   ///< counter on the device of the values outside the range; null: no counting
  const float* device_scales;   ///< one factor per tensor on the device, applied before rounding; null: none
  const uint64_t* device_step;  ///< number of the step on the device, for stochastic rounding; null: step 0
} syclamp_cast_options;

/// Casts every element of `in` to the type of `out`: FP32, FP16, BF16 and FP8 in any direction, FP64 as input only.
/// \param options  may be null: to nearest even, and values outside the range become Inf
SYCLAMP_C_API syclamp_status syclamp_cast(syclamp_tensor_list in, syclamp_tensor_list out,
                                          const syclamp_cast_options* options);

// --- Clipping by hand; optimizers also clip by themselves (`syclamp_step_options`) ----------------------------------

/// Declares that FP32 gradients were never scaled. The library cannot check this.
SYCLAMP_C_API syclamp_status syclamp_unscaled_create(syclamp_tensor_list never_scaled, syclamp_unscaled* unscaled);
SYCLAMP_C_API syclamp_status syclamp_unscaled_destroy(syclamp_unscaled unscaled);  ///< destroys a handle

/// A handle of the list of unscaled gradients, to read them or to inspect them. Destroy it. The list of an optimizer's
/// FP32 shadow keeps its addresses: changing them is SYCLAMP_MISUSE.
SYCLAMP_C_API syclamp_status syclamp_unscaled_list(syclamp_unscaled unscaled, syclamp_tensor_list* list);

/// Clips gradients by their norm, in place. The norm is that of the last run of the inspector, divided by the scale
/// that the inspector was given.
/// \param inspector        an inspector of the same gradients, scaled or not
/// \param unscaled         the gradients to clip
/// \param max_norm         the largest norm, 0 or more
/// \param device_max_norm  address of the largest norm on the device; null: `max_norm` is used
/// \param kind             which norm
SYCLAMP_C_API syclamp_status syclamp_clip(syclamp_inspector inspector, syclamp_unscaled unscaled, float max_norm,
                                          const float* device_max_norm, syclamp_norm_kind kind);

/// Clips each group by its own norm, as `syclamp_clip`. The inspector needs SYCLAMP_INSPECT_TENSORS.
SYCLAMP_C_API syclamp_status syclamp_clip_by_group(syclamp_inspector inspector, syclamp_unscaled unscaled,
                                                   float max_norm, const float* device_max_norm,
                                                   syclamp_norm_kind kind);

/// Clamps every element to [-limit, limit], in place.
SYCLAMP_C_API syclamp_status syclamp_clip_by_value(syclamp_unscaled unscaled, float limit, const float* device_limit);

/// The norm of the last `syclamp_clip` with this inspector, or of a group, and the factor that was applied. Waits.
/// \param group        index of the group after `syclamp_clip_by_group`, else 0
/// \param norm         receives the norm of the unscaled gradients; may be null
/// \param coefficient  receives the factor, at most 1; may be null
SYCLAMP_C_API syclamp_status syclamp_clip_result(syclamp_inspector inspector, uint32_t group, float* norm,
                                                 float* coefficient);

#ifdef __cplusplus
}
#endif
#endif
