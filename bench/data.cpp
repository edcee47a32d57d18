// SPDX-License-Identifier: Apache-2.0
#include "bench/data.hpp"

namespace syclamp::bench {
namespace {

/// Positive numbers from the given pattern down, some of them zero; the same on every machine. The first is the
/// largest.
template <typename Bits>
void fill(Bits* data, std::uint64_t count, Bits largest) {
  std::uint32_t state = 12345;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = state % 97 == 0 ? Bits{0} : static_cast<Bits>((state >> 3) % largest);
  }
  data[0] = largest;
}

}  // namespace

float fill(void* data, std::uint64_t count, element_type type) {
  if (type == element_type::float32) {
    fill(static_cast<std::uint32_t*>(data), count, std::uint32_t{0x47000000});
  } else {
    const std::uint16_t largest = type == element_type::float16 ? 0x7800 : 0x4700;
    fill(static_cast<std::uint16_t*>(data), count, largest);
  }
  return 32768.0f;
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
