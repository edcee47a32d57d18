// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element-wise operations on lists of gradients.
///
/// Every operation submits kernels to the queue of its lists and returns at once. None waits, allocates or reads
/// results back. A `device_value` is read when the kernel runs, so an earlier kernel may compute it. Arithmetic is FP32
/// for every storage type. The first use of an operation compiles its kernels or loads them from the cache;
/// `engine::compile_all` does this in advance.
///
/// An operation begins when all of its `dependencies` and all earlier commands of its queue are complete. The event
/// that it returns is complete when the operation is.
///
/// The two lists of an operation must have the same number of tensors with the same sizes. A tensor that is absent in
/// one list is left out. A tensor of `out` may be the same memory as its tensor of `in` if the types are equal. Any
/// other overlap with written memory, and FP64 as output, is an `invalid_argument`.
#pragma once

#include <vector>

#include <syclamp/clip_result.hpp>
#include <syclamp/export.hpp>
#include <syclamp/inspection.hpp>
#include <syclamp/scalar.hpp>
#include <syclamp/tensor_list.hpp>
#include <syclamp/unscaled_gradients.hpp>

namespace SYCLAMP_NAMESPACE {

/// Unscales gradients: out = in / scale, in FP32. This is exact for a power of two, unless a result is subnormal in
/// FP32. FP64 is rounded to FP32 first. To inspect the gradients in the same pass, call `inspector::unscale`.
/// \param in     scaled gradients of any type
/// \param out    FP32 tensors: a shadow of FP16 or BF16 gradients, or FP32 gradients themselves
/// \param scale  positive and finite
/// \param dependencies  events that must be complete before the operation begins
/// \return the unscaled gradients, as clip operations take them
/// \throws invalid_argument if a tensor of `out` is not FP32 or the lists do not fit
SYCLAMP_API unscaled_gradients unscale(const tensor_list& in, const tensor_list& out, const scalar& scale,
                                       const std::vector<sycl::event>& dependencies = {});

/// Multiplies by a factor: out = in · factor, rounded to FP32 and then to the type of `out`. For a loss before its
/// backward pass, or any other list.
/// \param in            tensors of any type
/// \param out           tensors of the same sizes; may be `in`
/// \param factor        any number
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when the operation is
/// \throws invalid_argument if the lists do not fit
SYCLAMP_API sycl::event scale(const tensor_list& in, const tensor_list& out, const scalar& factor,
                              const std::vector<sycl::event>& dependencies = {});

/// Adds unscaled gradients to a sum: sum += in / scale, in FP32. For gradients of several backward passes, each with
/// its own scale.
/// \param in              scaled gradients of any type
/// \param sum             FP32 tensors of the same sizes
/// \param scale           positive and finite
/// \param overflow_check  an inspection of `in` in device memory. If it found an Inf or NaN, nothing is added, so a
///                        micro-batch that overflowed is dropped as a whole. Null: always add.
/// \param dependencies    events that must be complete before the operation begins
/// \return the sums, as clip operations take them
/// \throws invalid_argument if a tensor of `sum` is not FP32 or the lists do not fit
SYCLAMP_API unscaled_gradients accumulate(const tensor_list& in, const tensor_list& sum, const scalar& scale,
                                          const inspection* overflow_check = nullptr,
                                          const std::vector<sycl::event>& dependencies = {});

/// Sets every element to zero.
/// \param list            tensors of any type
/// \param overflow_check  an inspection in device memory. If it found no Inf or NaN, nothing is written. Null: always
///                        write.
/// \param dependencies    events that must be complete before the operation begins
/// \return an event that is complete when the operation is
SYCLAMP_API sycl::event clear_gradients(const tensor_list& list, const inspection* overflow_check = nullptr,
                                        const std::vector<sycl::event>& dependencies = {});

/// Computes the factor that reduces the norm of unscaled gradients to `max_norm`, from an inspection of the scaled
/// gradients.
///
/// The norm is that of the gradients divided by the scale that was passed to the inspector.
/// \param engine     the engine of the gradients
/// \param inspected  the inspection, in device memory
/// \param max_norm   if a `device_value` is negative or NaN, the coefficient is a NaN
/// \param result     receives the norm and the coefficient, in device memory owned by the caller
/// \param kind       `l1` needs an inspector with `inspection_level::tensors`. Without it the norm is NaN, and nothing
///                   is clipped.
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when the operation is
/// \throws invalid_argument if `max_norm` is a value that is negative or NaN
SYCLAMP_API sycl::event clip_coefficient(const engine& engine, const inspection* inspected, const scalar& max_norm,
                                         clip_result* result, norm_kind kind = norm_kind::l2,
                                         const std::vector<sycl::event>& dependencies = {});

/// Computes the clip coefficients of several inspections at once, such as those of the groups of a list
/// (`inspector::device_groups`).
/// \param engine        the engine of the gradients
/// \param inspected     an array of inspections, in device memory
/// \param count         number of inspections
/// \param max_norm      limit of each norm
/// \param results       an array of `count` results in device memory, owned by the caller
/// \param kind          which norm
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when the operation is
/// \throws invalid_argument if `max_norm` is a value that is negative or NaN
SYCLAMP_API sycl::event clip_coefficients(const engine& engine, const inspection* inspected, std::uint32_t count,
                                          const scalar& max_norm, clip_result* results, norm_kind kind = norm_kind::l2,
                                          const std::vector<sycl::event>& dependencies = {});

/// Multiplies all gradients by a clip coefficient, in place. Use it to clip by hand; optimizers clip in their own
/// kernel. If the coefficient is NaN, the scaler that has unscaled the gradients skips the step with the status
/// `invalid_number`.
/// \param gradients     unscaled gradients
/// \param result        the coefficient, in device memory
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when the operation is
SYCLAMP_API sycl::event clip(const unscaled_gradients& gradients, const clip_result* result,
                             const std::vector<sycl::event>& dependencies = {});

/// Multiplies each tensor by the clip coefficient of its group, in place.
/// \param gradients     unscaled gradients
/// \param results       one coefficient per group, in device memory
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when the operation is
SYCLAMP_API sycl::event clip_by_group(const unscaled_gradients& gradients, const clip_result* results,
                                      const std::vector<sycl::event>& dependencies = {});

/// Clamps every element to [-limit, limit], in place. NaN stays NaN. If a `device_value` is negative or NaN, nothing is
/// written, and the scaler that has unscaled the gradients skips the step with the status `invalid_number`. Other ranks
/// of a consensus do not skip then, because the consensus came before.
/// \param gradients     unscaled gradients
/// \param limit         0 or more; infinity means no limit
/// \param dependencies  events that must be complete before the operation begins
/// \return an event that is complete when the operation is
/// \throws invalid_argument if `limit` is a value that is negative or NaN
SYCLAMP_API sycl::event clip_by_value(const unscaled_gradients& gradients, const scalar& limit,
                                      const std::vector<sycl::event>& dependencies = {});

}  // namespace SYCLAMP_NAMESPACE
