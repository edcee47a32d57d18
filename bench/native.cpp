// SPDX-License-Identifier: Apache-2.0
#include "bench/native.hpp"

#include <cstring>

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
