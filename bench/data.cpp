// SPDX-License-Identifier: Apache-2.0
#include "bench/data.hpp"

#include <bit>

namespace syclamp::bench {

// Positive numbers, some of them zero, the same on every machine and in all types, BF16 without their last bits. (With
// patterns as random in its wider range, half of all squares would be subnormal, which gradients are not, and which
// CPUs are slow with.)
float fill(void* data, std::uint64_t count, element_type type) {
  constexpr std::uint32_t largest = 0x7800;  // 2^15 in FP16
  const auto value_of = [](std::uint32_t half) {
    return static_cast<float>(std::bit_cast<sycl::half>(static_cast<std::uint16_t>(half)));
  };
  std::uint32_t state = 12345;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const std::uint32_t half = i == 0 ? largest : state % 97 == 0 ? 0u : (state >> 3) % largest;
    if (type == element_type::float32) {
      static_cast<float*>(data)[i] = value_of(half);
    } else {
      static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(
          type == element_type::float16 ? half : std::bit_cast<std::uint32_t>(value_of(half)) >> 16);
    }
  }
  return value_of(largest);
}

std::vector<tensor> cut(unsigned char* data, element_type type, const settings& options) {
  std::vector<tensor> tensors;
  for (std::uint64_t i = 0; i < options.tensors; ++i) {
    const std::uint64_t begin = options.elements * i / options.tensors,
                        end = options.elements * (i + 1) / options.tensors;
    tensors.push_back({{data + begin * bytes_per_element(type), type}, end - begin});
  }
  return tensors;
}

void fill_in(result& row, const std::string& op, element_type type, const settings& options, double bytes_per_element,
             const comparison& times) {
  const double gigabytes = 1e-9 * bytes_per_element * static_cast<double>(options.elements);
  row.op = op;
  row.grad_type = to_string(type);
  row.elements = options.elements;
  row.tensors = options.tensors;
  row.bytes_per_element = bytes_per_element;
  row.seconds_median = times.ours.median;
  row.seconds_min = times.ours.min;
  row.gbps = gigabytes / times.ours.median;
  row.reference_gbps = gigabytes / times.reference.median;
  row.ratio = row.gbps / row.reference_gbps;
}

}  // namespace syclamp::bench
