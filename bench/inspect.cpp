// SPDX-License-Identifier: Apache-2.0
// Operations that read gradients and write nothing: inspect, norm (inspect and the clip coefficient), inspect_tensors.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "bench/bench.hpp"
#include "bench/data.hpp"
#include "bench/measure.hpp"
#include "bench/native.hpp"
#include "bench/plain.hpp"

namespace syclamp::bench {
namespace {

/// True if each tensor of `cut` is described by its own inspection.
bool is_true_of_each(const std::vector<inspection>& tensors, const std::vector<double>& values, element_type type) {
  auto begin = values.begin();
  for (const inspection& seen : tensors) {
    if (std::distance(begin, values.end()) < static_cast<std::ptrdiff_t>(seen.elements)) return false;
    const auto end = begin + static_cast<std::ptrdiff_t>(seen.elements);
    if (!is_true_of(seen, {begin, end}, type)) return false;
    begin = end;
  }
  return begin == values.end();
}

/// `submit(look)` submits the operation.
template <typename Submit>
result measure(const char* name, const engine& on, element_type type, const settings& with, detail level,
               Submit submit) {
  const std::size_t bytes = with.elements * size_of(type);
  const buffer gradients(on, bytes);
  fill(gradients.data, with.elements, type);
  const inspector look(tensor_list(on, cut(gradients.data, type, with)), level);

  const std::uint64_t before = on.kernels_submitted();
  submit(look);
  result row;
  row.kernels = on.kernels_submitted() - before;
  const inspection seen = look.result();
  const auto values = decoded(gradients.data, with.elements, type);
  row.verified = is_true_of(seen, values, type);
  if (level != detail::list) row.verified &= is_true_of_each(look.tensors(), values, type);
  row.checksum = checksum(&seen, sizeof seen);

  std::uint64_t unused = 0;
  const auto times = alternate(
      with.repetitions,
      [&] {
        submit(look);
        on.wait();
      },
      [&] { unused |= native::read(gradients.data, bytes); });
  row.verified &= unused != 0;
  fill_in(row, name, type, with, size_of(type), times);
  return row;
}

}  // namespace

result measure_inspect(const engine& on, element_type type, const settings& with) {
  return measure("inspect", on, type, with, detail::list, [](const inspector& look) { look(); });
}

result measure_details(const engine& on, element_type type, const settings& with) {
  return measure("inspect_tensors", on, type, with, detail::tensors, [](const inspector& look) { look(); });
}

result measure_norm(const engine& on, element_type type, const settings& with) {
  const buffer scalar(on, 2 * sizeof(float)), results(on, sizeof(clip_result));
  auto* scale = reinterpret_cast<float*>(scalar.data);
  auto* max_norm = scale + 1;
  *scale = 1024.0f;
  *max_norm = 1.0f;
  auto* clipped = reinterpret_cast<clip_result*>(results.data);
  result row = measure("norm", on, type, with, detail::list, [&](const inspector& look) {
    look(scale);
    clip_coefficient(on, look.device_result(), max_norm, clipped);
  });
  const buffer gradients(on, with.elements * size_of(type));
  fill(gradients.data, with.elements, type);
  const double norm = norm_of(decoded(gradients.data, with.elements, type)) / *scale;
  row.verified &= std::abs(clipped->norm - norm) <= 1e-6 * norm &&
                  std::abs(clipped->coefficient - std::min(1.0, 1.0 / (norm + 1e-6))) <= 1e-6;
  return row;
}

}  // namespace syclamp::bench
