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

}  // namespace

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
