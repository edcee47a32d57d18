// SPDX-License-Identifier: Apache-2.0
// Operations that write: unscale, scale, cast, accumulate, clip, clear. A cast goes from FP32 to the type in question,
// the others start from it.
#include <optional>

#include "bench/bench.hpp"
#include "bench/data.hpp"
#include "bench/native.hpp"
#include "bench/plain.hpp"

namespace syclamp::bench {
namespace {

/// Calls `action` with null pointers to unsigned integers as wide as elements of the two types.
template <typename Action>
void with_sizes(element_type in, element_type out, Action action) {
  const auto out_of = [&](auto* from) {
    bytes_per_element(out) == 2 ? action(from, static_cast<std::uint16_t*>(nullptr))
                                : action(from, static_cast<std::uint32_t*>(nullptr));
  };
  bytes_per_element(in) == 2 ? out_of(static_cast<std::uint16_t*>(nullptr))
                             : out_of(static_cast<std::uint32_t*>(nullptr));
}

struct task {
  const char* name;
  element_type in, out;
  bool in_place = false;
  bool accumulate = false;
  double factor = 1;  ///< by which one call multiplies the elements
};

/// `submit(in, out, two)` submits the operation; `two` is 2.
template <typename Submit>
result measure(const engine& engine, element_type reported, const settings& options, const task& measured,
               Submit submit) {
  const buffer in(engine, options.elements * bytes_per_element(measured.in)),
      other(engine, options.elements * bytes_per_element(measured.out));
  const buffer& out = measured.in_place ? in : other;
  float two = 2.0f;
  fill(in.data, options.elements, measured.in);
  const auto values = decoded(in.data, options.elements, measured.in);
  if (!measured.in_place) native::clear(out.data, options.elements * bytes_per_element(measured.out) / 8 * 8);
  const tensor_list from(engine, cut(in.data, measured.in, options)), to(engine, cut(out.data, measured.out, options));

  result row;
  const std::uint64_t before = engine.statistics().kernels_submitted;
  submit(from, to, two);
  row.kernels = engine.statistics().kernels_submitted - before;
  const inspector inspector(to);
  inspector.run();
  const inspection result = inspector.result();
  row.verified = holds_product(out.data, measured.out, values, measured.factor);
  row.checksum = checksum(&result, sizeof result);

  two = 1.0f;  // repeated in place: the numbers must not change
  comparison times;
  with_sizes(measured.in, measured.out, [&](auto* in_type, auto* out_type) {
    const auto* source = reinterpret_cast<decltype(in_type)>(in.data);
    auto* target = reinterpret_cast<decltype(out_type)>(out.data);
    times = alternate(
        options.repetitions,
        [&] {
          submit(from, to, two);
          engine.wait();
        },
        [&] { native::transform(source, target, options.elements, measured.accumulate); });
  });
  const double bytes =
      bytes_per_element(measured.in) + bytes_per_element(measured.out) * (measured.accumulate ? 2.0 : 1.0);
  fill_in(row, measured.name, reported, options, bytes, times);
  return row;
}

}  // namespace

result measure_unscale(const engine& engine, element_type type, const settings& options) {
  const task measured{.name = "unscale", .in = type, .out = element_type::float32, .factor = 0.5};
  return measure(engine, type, options, measured, [](auto& in, auto& out, float two) { unscale(in, out, two); });
}

result measure_scale(const engine& engine, element_type type, const settings& options) {
  const task measured{.name = "scale", .in = type, .out = type, .in_place = true, .factor = 2.0};
  return measure(engine, type, options, measured, [](auto& in, auto& out, float two) { scale(in, out, two); });
}

result measure_cast(const engine& engine, element_type type, const settings& options) {
  const task measured{.name = "cast", .in = element_type::float32, .out = type};
  return measure(engine, type, options, measured, [](auto& in, auto& out, float) { cast(in, out); });
}

result measure_accumulate(const engine& engine, element_type type, const settings& options) {
  const task measured{
      .name = "accumulate", .in = type, .out = element_type::float32, .accumulate = true, .factor = 0.5};
  return measure(engine, type, options, measured, [](auto& in, auto& out, float two) { accumulate(in, out, two); });
}

/// The inspector is made by the first call, outside the time that is measured.
result measure_inspect_unscale(const engine& engine, element_type type, const settings& options) {
  const task measured{.name = "inspect_unscale", .in = type, .out = element_type::float32, .factor = 0.5};
  std::optional<inspector> inspector;
  return measure(engine, type, options, measured, [&](const tensor_list& in, const tensor_list& out, float two) {
    if (!inspector) inspector.emplace(in);
    inspector->unscale(out, two);
  });
}

/// Clipping is for unscaled gradients, which are FP32 whatever the scaled ones are.
result measure_clip(const engine& engine, element_type type, const settings& options) {
  const task measured{
      .name = "clip", .in = element_type::float32, .out = element_type::float32, .in_place = true, .factor = 0.5};
  const buffer memory(engine, sizeof(clip_result));
  auto* half = reinterpret_cast<clip_result*>(memory.data);
  *half = {.norm = 2.0f, .coefficient = 0.5f};
  result row = measure(engine, type, options, measured, [&](const tensor_list& in, const tensor_list&, float two) {
    half->coefficient = 1.0f / two;
    clip(unscaled_gradients::never_scaled(in), half);
  });
  return row;
}

result measure_clear(const engine& engine, element_type type, const settings& options) {
  const std::size_t bytes = options.elements * bytes_per_element(type);
  const buffer data(engine, bytes);
  fill(data.data, options.elements, type);
  const tensor_list list(engine, cut(data.data, type, options));
  result row;
  const std::uint64_t before = engine.statistics().kernels_submitted;
  clear_gradients(list);
  row.kernels = engine.statistics().kernels_submitted - before;
  const inspector inspector(list);
  inspector.run();
  const inspection result = inspector.result();
  row.verified = result.zero_count == options.elements;
  row.checksum = checksum(&result, sizeof result);
  const auto times = alternate(
      options.repetitions,
      [&] {
        clear_gradients(list);
        engine.wait();
      },
      [&] { native::clear(data.data, bytes); });
  fill_in(row, "clear", type, options, bytes_per_element(type), times);
  return row;
}

}  // namespace syclamp::bench
