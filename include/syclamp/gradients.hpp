// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element-wise operations on lists of gradients.
///
/// Every operation is submitted to the queue of its lists and returns at once. None waits, allocates or reads anything
/// back. A number that was given as a `device_value` is read when the kernel runs, so it may be the result of an
/// earlier kernel. Arithmetic is FP32, whatever the storage. An operation that is used for the first time compiles its
/// kernels or loads them from the cache; `engine::compile_all` does this in advance.
///
/// An operation begins when all of its `dependencies` are complete and everything before it on its queue is. The event
/// that it returns is complete when the operation is.
///
/// The two lists of an operation have the same number of tensors of the same sizes. A tensor that is absent in one of
/// them is left out. A tensor of `out` may be the same memory as that of `in` if the types are equal. Any other overlap
/// with memory that is written is refused, and so is FP64 as output.
#pragma once

#include <vector>

#include <syclamp/clip_result.hpp>
#include <syclamp/export.hpp>
#include <syclamp/inspection.hpp>
#include <syclamp/scalar.hpp>
#include <syclamp/tensor_list.hpp>
#include <syclamp/unscaled_gradients.hpp>

namespace SYCLAMP_NAMESPACE {

/// out = in / scale, in FP32. This is exact for a power of two, unless a result is subnormal in FP32. FP64 is rounded
/// to FP32 first. To inspect the gradients in the same pass, use `inspector::unscale`.
/// \param out    FP32 tensors: a shadow of FP16 or BF16 gradients, or FP32 gradients themselves
/// \param scale  positive and finite
/// \throws invalid_argument if a tensor of `out` is not FP32 or the lists do not fit
SYCLAMP_API unscaled_gradients unscale(const tensor_list& in, const tensor_list& out, const scalar& scale,
                                       const std::vector<sycl::event>& dependencies = {});

/// out = in · factor, rounded to FP32 and then to the type of `out`. For a loss before its backward pass, or any list.
SYCLAMP_API sycl::event scale(const tensor_list& in, const tensor_list& out, const scalar& factor,
                              const std::vector<sycl::event>& dependencies = {});

/// sum += in / scale, in FP32. For gradients of several backward passes, each with its own scale.
/// \param unless_bad  an inspection of `in` in device memory. If it found an Inf or NaN, nothing is added, so a bad
///                    micro-batch is dropped as a whole. Null: always add.
/// \throws invalid_argument if a tensor of `sum` is not FP32
SYCLAMP_API unscaled_gradients accumulate(const tensor_list& in, const tensor_list& sum, const scalar& scale,
                                          const inspection* unless_bad = nullptr,
                                          const std::vector<sycl::event>& dependencies = {});

/// Sets every element to zero.
/// \param only_if_bad  an inspection in device memory. If it found no Inf or NaN, nothing is written. Null: always.
SYCLAMP_API sycl::event clear_gradients(const tensor_list& list, const inspection* only_if_bad = nullptr,
                                        const std::vector<sycl::event>& dependencies = {});

/// The factor that brings the norm of unscaled gradients down to `max_norm`, from an inspection of scaled ones.
///
/// The norm is that of the gradients divided by the scale that the inspector was told. So gradients cannot be clipped
/// before they are unscaled.
/// \param inspected  in device memory, of the gradients as they are
/// \param max_norm   if a `device_value` is negative or NaN, the coefficient is a NaN
/// \param result     in device memory
/// \param kind       `l1` needs an inspector with `inspection_level::tensors`. Without it the norm is a NaN, and
///                   nothing is clipped.
/// \throws invalid_argument if `max_norm` is a value that is negative or NaN
SYCLAMP_API sycl::event clip_coefficient(const engine& engine, const inspection* inspected, const scalar& max_norm,
                                         clip_result* result, norm_kind kind = norm_kind::l2,
                                         const std::vector<sycl::event>& dependencies = {});

/// The same for several inspections at once, such as those of the groups of a list (`inspector::device_groups`).
/// \param results  as many in device memory
SYCLAMP_API sycl::event clip_coefficients(const engine& engine, const inspection* inspected, std::uint32_t count,
                                          const scalar& max_norm, clip_result* results, norm_kind kind = norm_kind::l2,
                                          const std::vector<sycl::event>& dependencies = {});

/// Multiplies gradients by the coefficient, in place. Optimizers clip in their own kernel; this is for clipping by
/// hand. If the coefficient is a NaN, a scaler that has unscaled the gradients skips the step with the status
/// `invalid_number`.
/// \param result  in device memory
SYCLAMP_API sycl::event clip(const unscaled_gradients& gradients, const clip_result* result,
                             const std::vector<sycl::event>& dependencies = {});

/// Multiplies each tensor by the coefficient of its group, in place.
/// \param results  in device memory, one per group
SYCLAMP_API sycl::event clip_by_group(const unscaled_gradients& gradients, const clip_result* results,
                                      const std::vector<sycl::event>& dependencies = {});

/// Clamps every element to [-limit, limit], in place. A NaN stays a NaN. If a `device_value` is negative or NaN,
/// nothing is written, and a scaler that has unscaled the gradients skips the step with the status `invalid_number`.
/// Other ranks of a consensus do not learn of it, because they have agreed before.
/// \throws invalid_argument if `limit` is a value that is negative or NaN
SYCLAMP_API sycl::event clip_by_value(const unscaled_gradients& gradients, const scalar& limit,
                                      const std::vector<sycl::event>& dependencies = {});

}  // namespace SYCLAMP_NAMESPACE
