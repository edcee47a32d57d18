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
  for (const inspection& result : tensors) {
    if (std::distance(begin, values.end()) < static_cast<std::ptrdiff_t>(result.elements)) return false;
    const auto end = begin + static_cast<std::ptrdiff_t>(result.elements);
    if (!is_true_of(result, {begin, end}, type)) return false;
    begin = end;
  }
  return begin == values.end();
}

/// `submit(look)` submits the operation.
template <typename Submit>
result measure(const char* name, const engine& engine, element_type type, const settings& options,
               inspection_level level, Submit submit) {
  const std::size_t bytes = options.elements * bytes_per_element(type);
  const buffer gradients(engine, bytes);
  fill(gradients.data, options.elements, type);
  const inspector inspector(tensor_list(engine, cut(gradients.data, type, options)), level);

  const std::uint64_t before = engine.statistics().kernels_submitted;
  submit(inspector);
  result row;
  row.kernels = engine.statistics().kernels_submitted - before;
  const inspection result = inspector.result();
  const auto values = decoded(gradients.data, options.elements, type);
  row.verified = is_true_of(result, values, type);
  if (level != inspection_level::list) row.verified &= is_true_of_each(inspector.tensors(), values, type);
  row.checksum = checksum(&result, sizeof result);

  std::uint64_t unused = 0;
  const auto times = alternate(
      options.repetitions,
      [&] {
        submit(inspector);
        engine.wait();
      },
      [&] { unused |= native::read(gradients.data, bytes); });
  row.verified &= unused != 0;
  fill_in(row, name, type, options, bytes_per_element(type), times);
  return row;
}

}  // namespace

result measure_inspect(const engine& engine, element_type type, const settings& options) {
  return measure("inspect", engine, type, options, inspection_level::list,
                 [](const inspector& inspector) { inspector.run(); });
}

result measure_details(const engine& engine, element_type type, const settings& options) {
  return measure("inspect_tensors", engine, type, options, inspection_level::tensors,
                 [](const inspector& inspector) { inspector.run(); });
}

result measure_norm(const engine& engine, element_type type, const settings& options) {
  const buffer results(engine, sizeof(clip_result));
  constexpr float scale = 1024.0f;
  auto* clipped = reinterpret_cast<clip_result*>(results.data);
  result row = measure("norm", engine, type, options, inspection_level::list, [&](const inspector& inspector) {
    inspector.run(scale);
    clip_coefficient(engine, inspector.device_result(), 1.0f, clipped);
  });
  const buffer gradients(engine, options.elements * bytes_per_element(type));
  fill(gradients.data, options.elements, type);
  const double norm = norm_of(decoded(gradients.data, options.elements, type)) / scale;
  row.verified &= std::abs(clipped->norm - norm) <= 1e-6 * norm &&
                  std::abs(clipped->coefficient - std::min(1.0, 1.0 / (norm + 1e-6))) <= 1e-6;
  return row;
}

}  // namespace syclamp::bench
