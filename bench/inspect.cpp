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

/// Bit patterns of every exponent but the last, hence finite, some of them zero; the same on every machine.
template <typename Bits>
Bits fill(Bits* data, std::uint64_t count, Bits below_infinity) {
  std::uint32_t state = 12345;
  Bits worst = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data[i] = state % 97 == 0 ? Bits{0} : static_cast<Bits>((state >> 3) % below_infinity);
    worst = std::max(worst, data[i]);
  }
  return worst;
}

result measure_inspect(const engine& on, element_type type, const settings& with) {
  const std::size_t bytes = with.elements * size_of(type);
  const buffer gradients(on, bytes);
  const std::uint32_t worst =
      type == element_type::float32
          ? fill(reinterpret_cast<std::uint32_t*>(gradients.data), with.elements, std::uint32_t{0x5f000000})
          : fill(reinterpret_cast<std::uint16_t*>(gradients.data), with.elements,
                 static_cast<std::uint16_t>(type == element_type::float16 ? 0x7c00 : 0x5f00));
  const inspector look(on, with.elements);
  const array_view view(gradients.data, with.elements, type);

  const std::uint64_t before = on.kernels_submitted();
  look(view);
  result row;
  row.kernels = on.kernels_submitted() - before;
  const inspection seen = look.result();
  row.verified = seen.worst_bits == worst && seen.all_finite() && seen.elements == with.elements;
  row.checksum = checksum(&seen, sizeof seen);

  std::uint64_t unused = 0;
  const auto times = alternate(
      with.repetitions,
      [&] {
        look(view);
        on.wait();
      },
      [&] { unused |= native::read(gradients.data, bytes); });
  row.verified &= unused != 0;
  row.op = "inspect";
  row.grad_type = name_of(type);
  row.elements = with.elements;
  row.tensors = 1;
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
