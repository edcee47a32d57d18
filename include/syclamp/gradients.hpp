// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element-wise operations on lists of gradients.
///
/// All of them are submitted to the list's queue and return at once; none waits, allocates or reads anything back.
/// Numbers that they depend on (scale, clip coefficient, flags) are read from device memory when the kernel runs, so
/// a value that an earlier kernel of the queue writes is seen. Arithmetic is FP32, whatever the storage. (An operation
/// that is used for the first time compiles its kernels, or loads them from the cache: `engine::compile_all`.)
///
/// Where an operation takes two lists, they have the same number of tensors of the same sizes; a tensor that is absent
/// in either is left out. A tensor of `out` may be the same memory as that of `in` if the types are equal; any other
/// overlap of what is written is refused, and so is FP64 as output.
#pragma once

#include <syclamp/clip_result.hpp>
#include <syclamp/inspection.hpp>
#include <syclamp/tensor_list.hpp>
#include <syclamp/unscaled_gradients.hpp>

namespace syclamp {

/// out = in / scale, in FP32. For a power of two this is exact unless a result is subnormal in FP32. (FP64 is rounded
/// to FP32 first.) To inspect in the same pass: `inspector::unscale`.
/// \param out    FP32 tensors: a shadow of FP16 or BF16 gradients, or FP32 gradients themselves
/// \param scale  in device memory, positive and finite
/// \throws invalid_argument if a tensor of `out` is not FP32 or the lists do not fit
unscaled_gradients unscale(const tensor_list& in, const tensor_list& out, const float* scale);

/// out = in · factor, rounded to FP32 and then to the type of `out`. For a loss before its backward pass, or any list.
/// \param factor  in device memory
sycl::event scale(const tensor_list& in, const tensor_list& out, const float* factor);

/// sum += in / scale, in FP32: gradients of several backward passes, each with the scale of its own.
/// \param unless_bad  an inspection of `in` in device memory: if it found anything, nothing is added, so that one bad
///                    micro-batch is dropped as a whole. Null: always add.
/// \throws invalid_argument if a tensor of `sum` is not FP32
unscaled_gradients accumulate(const tensor_list& in, const tensor_list& sum, const float* scale,
                              const inspection* unless_bad = nullptr);

/// Sets every element to zero.
/// \param only_if_bad  an inspection in device memory: if it found nothing, nothing is written. Null: always.
sycl::event clear_gradients(const tensor_list& list, const inspection* only_if_bad = nullptr);

/// The factor that brings the norm of unscaled gradients down to `max_norm`, from an inspection of scaled ones.
///
/// Unscaling comes before clipping by construction: the norm is that of the gradients divided by the scale that the
/// inspector was told.
/// \param inspected  in device memory, of the gradients as they are
/// \param max_norm  in device memory; if it is negative or NaN, the coefficient is a NaN
/// \param result    in device memory
/// \param kind      `l1` needs an inspector with `inspection_level::tensors`: else the norm is a NaN, and nothing is
/// clipped
sycl::event clip_coefficient(const engine& engine, const inspection* inspected, const float* max_norm,
                             clip_result* result, norm_kind kind = norm_kind::l2);

/// The same for several inspections at once, such as those of the groups of a list (`inspector::device_groups`).
/// \param results  as many in device memory
sycl::event clip_coefficients(const engine& engine, const inspection* inspected, std::uint32_t count,
                              const float* max_norm, clip_result* results, norm_kind kind = norm_kind::l2);

/// Multiplies gradients by the coefficient, in place; for those who do not let the optimizer's kernel do it. If the
/// coefficient is a NaN, a scaler that has unscaled the gradients skips the step with the status `invalid_number`.
sycl::event clip(const unscaled_gradients& gradients, const clip_result* clip);

/// Multiplies each tensor by the coefficient of its group, in place.
/// \param by  one a group, in device memory
sycl::event clip_by_group(const unscaled_gradients& gradients, const clip_result* clip);

/// Brings every element into [-limit, limit], in place. A NaN stays a NaN. With a limit that is negative or NaN nothing
/// is written, and a scaler that has unscaled the gradients skips the step with the status `invalid_number`. Other
/// ranks of a consensus are not told: they have agreed before.
/// \param limit  in device memory
sycl::event clip_by_value(const unscaled_gradients& gradients, const float* limit);

}  // namespace syclamp
