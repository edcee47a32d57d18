// SPDX-License-Identifier: Apache-2.0
#include "bench/data.hpp"

#include <bit>
#include <cmath>

namespace syclamp::bench {
namespace {

/// The value of a positive, finite FP16 number.
float value_of_half(std::uint32_t bits) {
  const auto exponent = static_cast<int>(bits >> 10), fraction = static_cast<int>(bits & 0x3ffu);
  return exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                       : std::ldexp(static_cast<float>(0x400 + fraction), exponent - 25);
}

/// Positive FP16 numbers up to the given one, some of them zero, the same on every machine, as `store(index, bits)` is
/// to keep them. The first is the largest.
template <typename Store>
void make_halves(std::uint64_t count, std::uint32_t largest, Store store) {
  std::uint32_t state = 12345;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    store(i, i == 0 ? largest : state % 97 == 0 ? 0u : (state >> 3) % largest);
  }
}

}  // namespace

// All types get the same numbers, BF16 without their last bits. (With patterns as random in its wider range, half of
// all squares would be subnormal, which gradients are not, and which CPUs are slow with.)
float fill(void* data, std::uint64_t count, element_type type) {
  constexpr std::uint32_t largest = 0x7800;
  make_halves(count, largest, [&](std::uint64_t i, std::uint32_t half) {
    const float value = value_of_half(half);
    if (type == element_type::float32) {
      static_cast<float*>(data)[i] = value;
    } else {
      static_cast<std::uint16_t*>(data)[i] =
          static_cast<std::uint16_t>(type == element_type::float16 ? half : std::bit_cast<std::uint32_t>(value) >> 16);
    }
  });
  return value_of_half(largest);
}

std::vector<tensor> cut(const unsigned char* data, element_type type, const settings& with) {
  std::vector<tensor> tensors;
  for (std::uint64_t i = 0; i < with.tensors; ++i) {
    const std::uint64_t begin = with.elements * i / with.tensors, end = with.elements * (i + 1) / with.tensors;
    tensors.push_back({{data + begin * size_of(type), end - begin, type}});
  }
  return tensors;
}

void fill_in(result& row, const std::string& op, element_type type, const settings& with, double bytes_per_element,
             const comparison& times) {
  const double gigabytes = 1e-9 * bytes_per_element * static_cast<double>(with.elements);
  row.op = op;
  row.grad_type = name_of(type);
  row.elements = with.elements;
  row.tensors = with.tensors;
  row.bytes_per_element = bytes_per_element;
  row.seconds_median = times.ours.median;
  row.seconds_min = times.ours.min;
  row.gbps = gigabytes / times.ours.median;
  row.reference_gbps = gigabytes / times.reference.median;
  row.ratio = row.gbps / row.reference_gbps;
}

}  // namespace syclamp::bench
