// SPDX-License-Identifier: Apache-2.0
#include "bench/native.hpp"

#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define SYCLAMP_NATIVE __attribute__((target_clones("avx2", "default")))
#else
#define SYCLAMP_NATIVE
#endif

namespace syclamp::bench::native {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 17;

SYCLAMP_NATIVE std::uint64_t read_block(const unsigned char* data, std::size_t bytes) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(data);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < bytes / sizeof *words; ++i) all |= words[i];
  return all;
}

template <typename In, typename Out>
inline void transform_block(const In* in, Out* out, std::size_t count, bool accumulate) {
  if (accumulate) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Out>(out[i] + in[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Out>(in[i] ^ 1u);
  }
}

// A clone for AVX2 cannot be a template: one function for each pair of sizes.
SYCLAMP_NATIVE void block(const std::uint16_t* in, std::uint32_t* out, std::size_t n, bool add) {
  transform_block(in, out, n, add);
}
SYCLAMP_NATIVE void block(const std::uint32_t* in, std::uint16_t* out, std::size_t n, bool add) {
  transform_block(in, out, n, add);
}
SYCLAMP_NATIVE void block(const std::uint32_t* in, std::uint32_t* out, std::size_t n, bool add) {
  transform_block(in, out, n, add);
}
SYCLAMP_NATIVE void block(const std::uint16_t* in, std::uint16_t* out, std::size_t n, bool add) {
  transform_block(in, out, n, add);
}
SYCLAMP_NATIVE void clear_block(std::uint64_t* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) data[i] = 0;
}

}  // namespace

template <typename In, typename Out>
void transform(const In* in, Out* out, std::size_t count, bool accumulate) {
  constexpr std::size_t step = block_bytes / sizeof(In);
  const auto blocks = static_cast<std::ptrdiff_t>((count + step - 1) / step);
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t i = 0; i < blocks; ++i) {
    const std::size_t begin = static_cast<std::size_t>(i) * step;
    block(in + begin, out + begin, count - begin < step ? count - begin : step, accumulate);
  }
}
template void transform(const std::uint16_t*, std::uint32_t*, std::size_t, bool);
template void transform(const std::uint32_t*, std::uint16_t*, std::size_t, bool);
template void transform(const std::uint32_t*, std::uint32_t*, std::size_t, bool);
template void transform(const std::uint16_t*, std::uint16_t*, std::size_t, bool);

namespace {

/// Converts a 16-bit type to FP32 and back by shifts, like BF16, because every CPU can vectorise shifts.
inline float widened(std::uint16_t bits) {
  const std::uint32_t raw = std::uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &raw, sizeof value);
  return value;
}
inline float widened(float value) { return value; }

inline std::uint16_t narrowed(float value) {
  std::uint32_t raw;
  std::memcpy(&raw, &value, sizeof raw);
  return static_cast<std::uint16_t>((raw + 0x8000u) >> 16);
}

template <typename Gradient, unsigned Moments, bool Copy>
inline void step_block(const Gradient* __restrict g, float* __restrict w, float* __restrict m, float* __restrict v,
                       std::uint16_t* __restrict copy, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float x = widened(g[i]) * 0x1p-10f;
    float direction = x;
    if constexpr (Moments > 0) direction = m[i] = 0.9f * m[i] + 0.1f * x;
    if constexpr (Moments > 1) {
      v[i] = 0.999f * v[i] + 0.001f * x * x;
      direction /= __builtin_sqrtf(v[i]) + 1e-8f;
    }
    w[i] -= 1e-3f * direction;
    if constexpr (Copy) copy[i] = narrowed(w[i]);
  }
}

#if defined(__x86_64__) && defined(__GNUC__)
/// The same with intrinsics and hardware conversions: for a loop with two element sizes, compilers use only half of a
/// vector.
template <typename Gradient, unsigned Moments, bool Copy>
__attribute__((target("avx2,fma,f16c"))) void step_by_hand(const Gradient* g, float* w, float* m, float* v,
                                                           std::uint16_t* copy, std::size_t count) {
  const __m256 unscale = _mm256_set1_ps(0x1p-10f), keep = _mm256_set1_ps(0.9f), fresh = _mm256_set1_ps(0.1f);
  const __m256 keep_squares = _mm256_set1_ps(0.999f), fresh_squares = _mm256_set1_ps(0.001f);
  const __m256 eps = _mm256_set1_ps(1e-8f), lr = _mm256_set1_ps(1e-3f);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 x;
    if constexpr (sizeof(Gradient) == 2) {
      x = _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(g + i)));
    } else {
      x = _mm256_loadu_ps(g + i);
    }
    x = _mm256_mul_ps(x, unscale);
    __m256 direction = x;
    if constexpr (Moments > 0) {
      direction = _mm256_fmadd_ps(keep, _mm256_loadu_ps(m + i), _mm256_mul_ps(fresh, x));
      _mm256_storeu_ps(m + i, direction);
    }
    if constexpr (Moments > 1) {
      const __m256 squares =
          _mm256_fmadd_ps(keep_squares, _mm256_loadu_ps(v + i), _mm256_mul_ps(_mm256_mul_ps(fresh_squares, x), x));
      _mm256_storeu_ps(v + i, squares);
      direction = _mm256_div_ps(direction, _mm256_add_ps(_mm256_sqrt_ps(squares), eps));
    }
    const __m256 next = _mm256_fnmadd_ps(lr, direction, _mm256_loadu_ps(w + i));
    _mm256_storeu_ps(w + i, next);
    if constexpr (Copy) _mm_storeu_si128(reinterpret_cast<__m128i*>(copy + i), _mm256_cvtps_ph(next, 0));
  }
  step_block<Gradient, Moments, Copy>(g + i, w + i, m + i, v + i, copy + i, count - i);
}

bool has_vectors() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
}
#else
template <typename Gradient, unsigned Moments, bool Copy>
void step_by_hand(const Gradient* g, float* w, float* m, float* v, std::uint16_t* copy, std::size_t count) {
  step_block<Gradient, Moments, Copy>(g, w, m, v, copy, count);
}

bool has_vectors() { return false; }
#endif

template <typename Gradient, unsigned Moments, bool Copy>
void step_blocks(const void* gradient, float* const* streams, void* copy, std::size_t count) {
  constexpr std::size_t step = 65536;
  const auto entry = has_vectors() ? step_by_hand<Gradient, Moments, Copy> : step_block<Gradient, Moments, Copy>;
  const auto blocks = static_cast<std::ptrdiff_t>((count + step - 1) / step);
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t i = 0; i < blocks; ++i) {
    const std::size_t begin = static_cast<std::size_t>(i) * step;
    const auto at = [&](unsigned stream) { return stream <= Moments ? streams[stream] + begin : nullptr; };
    entry(static_cast<const Gradient*>(gradient) + begin, at(0), at(1), at(2),
          Copy ? static_cast<std::uint16_t*>(copy) + begin : nullptr, count - begin < step ? count - begin : step);
  }
}

template <typename Gradient, bool Copy>
void step_with(unsigned moments, const void* gradient, float* const* streams, void* copy, std::size_t count) {
  const auto step = moments == 0   ? step_blocks<Gradient, 0, Copy>
                    : moments == 1 ? step_blocks<Gradient, 1, Copy>
                                   : step_blocks<Gradient, 2, Copy>;
  step(gradient, streams, copy, count);
}

}  // namespace

void optimizer_step(const void* gradient, std::size_t gradient_bytes, float* const* streams, unsigned moments,
                    void* copy, std::size_t count) {
  gradient_bytes == 2 ? step_with<std::uint16_t, true>(moments, gradient, streams, copy, count)
                      : step_with<float, false>(moments, gradient, streams, nullptr, count);
}

void clear(void* data, std::size_t bytes) {
  constexpr std::size_t step = block_bytes / sizeof(std::uint64_t);
  auto* words = static_cast<std::uint64_t*>(data);
  const std::size_t count = bytes / sizeof *words;
  const auto blocks = static_cast<std::ptrdiff_t>((count + step - 1) / step);
#pragma omp parallel for schedule(static)
  for (std::ptrdiff_t i = 0; i < blocks; ++i) {
    const std::size_t begin = static_cast<std::size_t>(i) * step;
    clear_block(words + begin, count - begin < step ? count - begin : step);
  }
}

std::uint64_t read(const void* data, std::size_t bytes) {
  const auto* start = static_cast<const unsigned char*>(data);
  const auto blocks = static_cast<std::ptrdiff_t>(bytes / block_bytes);
  std::uint64_t all = 0;
#pragma omp parallel for schedule(static) reduction(| : all)
  for (std::ptrdiff_t i = 0; i < blocks; ++i)
    all |= read_block(start + static_cast<std::size_t>(i) * block_bytes, block_bytes);
  return all | read_block(start + static_cast<std::size_t>(blocks) * block_bytes, bytes % block_bytes);
}

}  // namespace syclamp::bench::native
