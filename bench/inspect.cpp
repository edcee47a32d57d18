// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>

#include "bench/bench.hpp"
#include "bench/measure.hpp"
#include "bench/native.hpp"

namespace syclamp::bench {
namespace {

/// Host-visible memory, so that the native loop reads the very same bytes.
struct buffer {
  buffer(const engine& on, std::size_t bytes)
      : context(on.queue().get_context()),
        data(static_cast<unsigned char*>(sycl::aligned_alloc_shared(64, (bytes + 63) / 64 * 64, on.queue()))) {
    if (data == nullptr)
      throw out_of_memory_error("no memory for " + std::to_string(bytes) + " bytes: use --log2-size");
  }
  ~buffer() { sycl::free(data, context); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;

  sycl::context context;
  unsigned char* data;
};

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

/// Fills with gradients whose largest is 2^15, so that squares stay finite, and returns it.
float fill(void* data, std::uint64_t count, element_type type) {
  switch (type) {
    case element_type::float16: fill(static_cast<std::uint16_t*>(data), count, std::uint16_t{0x7800}); break;
    case element_type::bfloat16: fill(static_cast<std::uint16_t*>(data), count, std::uint16_t{0x4700}); break;
    case element_type::float32: fill(static_cast<std::uint32_t*>(data), count, std::uint32_t{0x47000000}); break;
  }
  return 32768.0f;
}

/// The elements as `tensors` tensors of as equal sizes as can be, one after the other in memory.
std::vector<tensor> cut(const unsigned char* data, element_type type, const settings& with) {
  std::vector<tensor> tensors;
  for (std::uint64_t i = 0; i < with.tensors; ++i) {
    const std::uint64_t begin = with.elements * i / with.tensors, end = with.elements * (i + 1) / with.tensors;
    tensors.push_back({{data + begin * size_of(type), end - begin, type}});
  }
  return tensors;
}

result measure_inspect(const engine& on, element_type type, const settings& with) {
  const std::size_t bytes = with.elements * size_of(type);
  const buffer gradients(on, bytes);
  const float largest = fill(gradients.data, with.elements, type);
  const inspector look(tensor_list(on, cut(gradients.data, type, with)));

  const std::uint64_t before = on.kernels_submitted();
  look();
  result row;
  row.kernels = on.kernels_submitted() - before;
  const inspection seen = look.result();
  row.verified = seen.amax == largest && seen.all_finite() && seen.elements == with.elements;
  row.checksum = checksum(&seen, sizeof seen);

  std::uint64_t unused = 0;
  const auto times = alternate(
      with.repetitions,
      [&] {
        look();
        on.wait();
      },
      [&] { unused |= native::read(gradients.data, bytes); });
  row.verified &= unused != 0;
  row.op = "inspect";
  row.grad_type = name_of(type);
  row.elements = with.elements;
  row.tensors = with.tensors;
  row.bytes_per_element = size_of(type);
  row.seconds_median = times.ours.median;
  row.seconds_min = times.ours.min;
  row.gbps = 1e-9 * static_cast<double>(bytes) / times.ours.median;
  row.reference_gbps = 1e-9 * static_cast<double>(bytes) / times.reference.median;
  row.ratio = row.gbps / row.reference_gbps;
  return row;
}

}  // namespace

const std::vector<std::pair<std::string, operation>>& operations() {
  static const std::vector<std::pair<std::string, operation>> all = {{"inspect", measure_inspect}};
  return all;
}

}  // namespace syclamp::bench
