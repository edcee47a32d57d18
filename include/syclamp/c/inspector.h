// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: inspects tensors for Inf, NaN, magnitudes and norms, without writing them.
#ifndef SYCLAMP_C_INSPECTOR_H
#define SYCLAMP_C_INSPECTOR_H

#include <syclamp/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Reasons to skip a step, as bits.
enum { SYCLAMP_FOUND_INF = 1, SYCLAMP_FOUND_NAN = 2, SYCLAMP_FOUND_BY_USER = 4 };

/// Stands for an index if there is no such element, because every element is finite.
#define SYCLAMP_NO_ELEMENT UINT64_MAX

/// The level of detail of an inspection.
typedef int32_t syclamp_inspection_level;
enum {
  SYCLAMP_INSPECT_LIST = 0,      ///< one result for all tensors together
  SYCLAMP_INSPECT_TENSORS = 1,   ///< also results per tensor and per group, and sums of absolute values
  SYCLAMP_INSPECT_HISTOGRAM = 2  ///< also a histogram of exponents
};

/// Kinds of norms.
typedef int32_t syclamp_norm_kind;
enum {
  SYCLAMP_NORM_L2 = 0,         ///< square root of the sum of squares
  SYCLAMP_NORM_L1 = 1,         ///< sum of absolute values; needs SYCLAMP_INSPECT_TENSORS
  SYCLAMP_NORM_L_INFINITY = 2  ///< largest absolute value
};

/// The result of an inspection.
typedef struct syclamp_inspection {
  size_t struct_size;               ///< sizeof(syclamp_inspection)
  uint64_t elements;                ///< number of elements read
  uint64_t inf_count;               ///< number of Inf
  uint64_t nan_count;               ///< number of NaN
  uint64_t zero_count;              ///< number of zeros
  uint64_t subnormal_count;         ///< number of subnormals in the storage format
  uint64_t first_nonfinite_tensor;  ///< index of the first tensor with an Inf or NaN, or SYCLAMP_NO_ELEMENT
  uint64_t first_nonfinite;         ///< index of the element in that tensor, or SYCLAMP_NO_ELEMENT
  double norm_l2;                   ///< L2 norm of the elements, not unscaled
  double norm_l1;                   ///< L1 norm; NaN below SYCLAMP_INSPECT_TENSORS
  double headroom;                  ///< log2(65504 / amax): doublings until FP16 overflows; Inf if all are zero
  float amax;                       ///< largest absolute value; Inf or NaN if one was found
  float unscaled_amax;              ///< amax divided by the scale
  float scale;                      ///< the scale that was given to the inspection
  uint32_t flags;                   ///< OR of SYCLAMP_FOUND_INF and SYCLAMP_FOUND_NAN; 0: all elements are finite
} syclamp_inspection;

/// Makes an inspector of a list. Make it once and use it on every step. Allocates.
SYCLAMP_C_API syclamp_status syclamp_inspector_create(syclamp_tensor_list list, syclamp_inspection_level level,
                                                      syclamp_inspector* inspector);
SYCLAMP_C_API syclamp_status syclamp_inspector_destroy(syclamp_inspector inspector);  ///< destroys a handle

/// Submits an inspection.
/// \param inspector     the inspector
/// \param scale         the loss scale of the elements; 1 if they are not scaled
/// \param device_scale  address of the scale on the device, which replaces `scale`; null: `scale` is used
SYCLAMP_C_API syclamp_status syclamp_inspector_run(syclamp_inspector inspector, float scale, const float* device_scale);

/// Inspects and unscales in one pass: out = in / scale.
/// \param inspector     the inspector of the scaled gradients
/// \param out           FP32 tensors of the same sizes
/// \param scale         the loss scale, positive and finite
/// \param device_scale  address of the scale on the device, which replaces `scale`; null: `scale` is used
/// \param unscaled      receives the unscaled gradients, for clipping; may be null
SYCLAMP_C_API syclamp_status syclamp_inspector_unscale(syclamp_inspector inspector, syclamp_tensor_list out,
                                                       float scale, const float* device_scale,
                                                       syclamp_unscaled* unscaled);

/// Reads the result of the whole list. Waits.
SYCLAMP_C_API syclamp_status syclamp_inspector_result(syclamp_inspector inspector, syclamp_inspection* result);

/// Reads the result of one tensor. Waits. Needs SYCLAMP_INSPECT_TENSORS.
SYCLAMP_C_API syclamp_status syclamp_inspector_tensor(syclamp_inspector inspector, uint64_t index,
                                                      syclamp_inspection* result);

/// Reads the results of all tensors. Waits. Needs SYCLAMP_INSPECT_TENSORS.
/// \param inspector  the inspector
/// \param results    an array of `count` results; set `struct_size` of the first one
/// \param count      number of tensors
SYCLAMP_C_API syclamp_status syclamp_inspector_tensors(syclamp_inspector inspector, syclamp_inspection* results,
                                                       size_t count);

/// Reads the result of one group. Waits. Needs SYCLAMP_INSPECT_TENSORS.
SYCLAMP_C_API syclamp_status syclamp_inspector_group(syclamp_inspector inspector, uint32_t index,
                                                     syclamp_inspection* result);

/// Reads the histogram of exponents: counts[e + 127] elements have an absolute value in [2^e, 2^(e + 1)). The first bin
/// counts FP32 subnormals, the last bin Inf and NaN. Waits. Needs SYCLAMP_INSPECT_HISTOGRAM.
SYCLAMP_C_API syclamp_status syclamp_inspector_histogram(syclamp_inspector inspector, uint64_t counts[256]);

/// The result of an inspection, as it lies in device memory. It has no `struct_size` and never changes.
typedef struct syclamp_device_inspection {
  uint64_t elements;                ///< number of elements read
  uint64_t inf_count;               ///< number of Inf
  uint64_t nan_count;               ///< number of NaN
  uint64_t zero_count;              ///< number of zeros
  uint64_t subnormal_count;         ///< number of subnormals in the storage format
  uint64_t first_nonfinite_tensor;  ///< index of the first tensor with an Inf or NaN, or SYCLAMP_NO_ELEMENT
  uint64_t first_nonfinite;         ///< index of the element in that tensor, or SYCLAMP_NO_ELEMENT
  uint64_t amax_bits;               ///< bits of the largest absolute value as an FP64: exact for every type
  float scale;                      ///< the scale that was given to the inspection
  float amax;                       ///< largest absolute value
  float unscaled_amax;              ///< amax divided by the scale
  uint32_t flags;                   ///< OR of SYCLAMP_FOUND_INF and SYCLAMP_FOUND_NAN
  float sum_of_squares;             ///< sum of squares divided by 2^squares_exponent
  float abs_sum;                    ///< sum of absolute values divided by 2^abs_sum_exponent
  int32_t squares_exponent;         ///< 0 unless the sum of squares is too large or too small for an FP32
  int32_t abs_sum_exponent;         ///< the same for the sum of absolute values
} syclamp_device_inspection;

/// The addresses of results in device memory, for kernels of yours. They are valid while the inspector exists. Each
/// output may be null, and receives null if the inspector's level does not have it.
/// \param inspector  the inspector
/// \param whole      receives the address of the result of the whole list
/// \param tensors    receives the address of one result per tensor
/// \param groups     receives the address of one result per group
/// \param histogram  receives the address of the 256 counts of the histogram
SYCLAMP_C_API syclamp_status syclamp_inspector_device_results(syclamp_inspector inspector,
                                                              const syclamp_device_inspection** whole,
                                                              const syclamp_device_inspection** tensors,
                                                              const syclamp_device_inspection** groups,
                                                              const uint64_t** histogram);

/// A handle of the inspected list. Destroy it.
SYCLAMP_C_API syclamp_status syclamp_inspector_list(syclamp_inspector inspector, syclamp_tensor_list* list);

/// Inspects one array, without an inspector. Waits.
/// \param engine   the engine
/// \param address  in memory of memory.h, or other USM memory
/// \param count    number of elements
/// \param type     storage format
/// \param result   receives the result
SYCLAMP_C_API syclamp_status syclamp_inspect(syclamp_engine engine, const void* address, uint64_t count,
                                             syclamp_element_type type, syclamp_inspection* result);

/// The headroom of a result for another limit: log2(amax_limit / amax).
SYCLAMP_C_API syclamp_status syclamp_inspection_headroom(const syclamp_inspection* inspection, double amax_limit,
                                                         double* headroom);

#ifdef __cplusplus
}
#endif
#endif
