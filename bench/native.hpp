// SPDX-License-Identifier: Apache-2.0
// The speed of the machine without SYCL: loops that a C++ compiler vectorises (AVX2 if available) and OpenMP spreads
// over the cores. They move the same bytes as an operation and are its reference in the same run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syclamp::bench::native {

/// Reads `bytes` bytes and combines them into a number, so that no compiler can leave the reading out.
std::uint64_t read(const void* data, std::size_t bytes);

/// Writes `count` elements of Out, made from as many of In by one integer operation; adds to what is there if `In` is
/// to be accumulated. Element types are unsigned integers of the sizes in question.
template <typename In, typename Out>
void transform(const In* in, Out* out, std::size_t count, bool accumulate);

/// A step of an optimizer, as far as memory goes: reads gradients of 2 (FP16, or anything as cheap to widen) or 4
/// bytes, reads and writes the weights and up to two moments in FP32, writes a copy of the weights in 2 bytes if `copy`
/// is not null. The arithmetic is that of momentum, with a root and a division if there are two moments.
void optimizer_step(const void* gradient, std::size_t gradient_bytes, float* const* streams, unsigned moments,
                    void* copy, std::size_t count);

/// Writes `bytes` zero bytes.
void clear(void* data, std::size_t bytes);

}  // namespace syclamp::bench::native
