// SPDX-License-Identifier: Apache-2.0
// Shared by all measurements: memory, gradients, lists, rows of results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/bench.hpp"
#include "bench/measure.hpp"

namespace syclamp::bench {

/// Host-visible memory, so that the native loop reads the very same bytes.
struct buffer {
  buffer(const engine& engine, std::size_t bytes)
      : memory(engine, bytes, sycl::usm::alloc::shared), data(memory.data()) {}

  device_array<unsigned char> memory;
  unsigned char* data;
};

/// Fills with gradients whose largest is 2^15, so that squares stay finite, and returns it.
float fill(void* data, std::uint64_t count, element_type type);

/// The elements as `with.tensors` tensors of as equal sizes as can be, one after the other in memory.
std::vector<tensor> cut(unsigned char* data, element_type type, const settings& options);

/// A tensor that `cut` returned, as an optimizer takes it.
inline array_view view_of(const tensor& tensor) {
  return {tensor.data.writable_address(), tensor.count, tensor.data.type()};
}

/// Completes a row from its times.
void fill_in(result& row, const std::string& op, element_type type, const settings& options, double bytes_per_element,
             const comparison& times);

}  // namespace syclamp::bench
