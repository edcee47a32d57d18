// SPDX-License-Identifier: Apache-2.0
/// \file
/// Element-wise operations on lists of gradients.
///
/// All of them are submitted to the list's queue and return at once; none waits, allocates or reads anything back.
/// Numbers that they depend on (scale, clip coefficient, findings) are read from device memory when the kernel runs, so
/// a value that an earlier kernel of the queue writes is seen. Arithmetic is FP32, whatever the storage.
///
/// Where an operation takes two lists, they have the same number of tensors of the same sizes; a tensor that is absent
/// in either is left out. `out` may be the same memory as `in` if the types are equal; any other overlap is refused.
#pragma once

#include <syclamp/clip_result.hpp>
#include <syclamp/inspection.hpp>
#include <syclamp/tensor_list.hpp>

namespace syclamp {

/// out = in / scale, in FP32. For a power of two this is exact unless a result is subnormal in FP32.
/// \param out    FP32 tensors: a shadow of FP16 or BF16 gradients, or FP32 gradients themselves
/// \param scale  in device memory, positive and finite
/// \throws invalid_argument if a tensor of `out` is not FP32 (see `unscale_lossy`), or the lists do not fit
sycl::event unscale(const tensor_list& in, const tensor_list& out, const float* scale);

/// Like `unscale`, but `out` may be FP16 or BF16: unscaled gradients below 6e-8 (FP16) are lost there, which is what
/// loss scaling is meant to prevent.
sycl::event unscale_lossy(const tensor_list& in, const tensor_list& out, const float* scale);

/// out = in · factor, rounded once to the type of `out`. For a loss before its backward pass, or any list.
/// \param factor  in device memory
sycl::event scale(const tensor_list& in, const tensor_list& out, const float* factor);

/// out = in, rounded to nearest even; values beyond the range become Inf.
sycl::event cast(const tensor_list& in, const tensor_list& out);

/// sum += in / scale, in FP32: gradients of several backward passes, each with the scale of its own.
/// \param unless_bad  an inspection of `in` in device memory: if it found Inf or NaN, nothing is added, so that one bad
///                    micro-batch is dropped as a whole. Null: always add.
/// \throws invalid_argument if a tensor of `sum` is not FP32
sycl::event accumulate(const tensor_list& in, const tensor_list& sum, const float* scale,
                       const inspection* unless_bad = nullptr);

/// Sets every element to zero.
/// \param only_if_bad  an inspection in device memory: if it found neither Inf nor NaN, nothing is written. Null:
/// always.
sycl::event clear(const tensor_list& list, const inspection* only_if_bad = nullptr);

/// The factor that brings the norm of unscaled gradients down to `max_norm`, from an inspection of scaled ones.
///
/// Unscaling comes before clipping by construction: the norm is that of the gradients divided by `scale`.
/// \param seen      in device memory, of the gradients as they are
/// \param scale     by which they are scaled, in device memory; null if they are not scaled
/// \param max_norm  in device memory
/// \param result    in device memory
sycl::event clip_coefficient(const engine& on, const inspection* seen, const float* scale, const float* max_norm,
                             clip_result* result);

/// Multiplies FP32 gradients by the coefficient, in place; for those who do not let the optimizer's kernel do it.
/// \param gradients  FP32, unscaled
/// \throws invalid_argument if a tensor is not FP32: unscale it first
sycl::event clip(const tensor_list& gradients, const clip_result* by);

}  // namespace syclamp
