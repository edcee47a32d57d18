// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.hpp"
#include "bench/data.hpp"
#include "bench/measure.hpp"
#include "bench/native.hpp"

namespace syclamp::bench {

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
  fill_in(row, "inspect", type, with, size_of(type), times);
  return row;
}

}  // namespace syclamp::bench
