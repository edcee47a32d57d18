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
    size_of(out) == 2 ? action(from, static_cast<std::uint16_t*>(nullptr))
                      : action(from, static_cast<std::uint32_t*>(nullptr));
  };
  size_of(in) == 2 ? out_of(static_cast<std::uint16_t*>(nullptr)) : out_of(static_cast<std::uint32_t*>(nullptr));
}

struct task {
  const char* name;
  element_type in, out;
  bool in_place = false;
  bool accumulate = false;
  double factor = 1;  ///< by which one call multiplies the elements
};

/// `submit(in, out, two)` submits the operation; `two` is a number 2 in device memory.
template <typename Submit>
result measure(const engine& on, element_type reported, const settings& with, const task& what, Submit submit) {
  const buffer in(on, with.elements * size_of(what.in)), other(on, with.elements * size_of(what.out));
  const buffer& out = what.in_place ? in : other;
  const buffer scalar(on, sizeof(float));
  auto* two = reinterpret_cast<float*>(scalar.data);
  *two = 2.0f;
  fill(in.data, with.elements, what.in);
  const auto values = decoded(in.data, with.elements, what.in);
  if (!what.in_place) native::clear(out.data, with.elements * size_of(what.out) / 8 * 8);
  const tensor_list from(on, cut(in.data, what.in, with)), to(on, cut(out.data, what.out, with));

  result row;
  const std::uint64_t before = on.kernels_submitted();
  submit(from, to, two);
  row.kernels = on.kernels_submitted() - before;
  const inspector look(to);
  look();
  const inspection seen = look.result();
  row.verified = holds_product(out.data, what.out, values, what.factor);
  row.checksum = checksum(&seen, sizeof seen);

  *two = 1.0f;  // in place, over and over: the numbers stay as they are
  comparison times;
  with_sizes(what.in, what.out, [&](auto* in_type, auto* out_type) {
    const auto* source = reinterpret_cast<decltype(in_type)>(in.data);
    auto* target = reinterpret_cast<decltype(out_type)>(out.data);
    times = alternate(
        with.repetitions,
        [&] {
          submit(from, to, two);
          on.wait();
        },
        [&] { native::transform(source, target, with.elements, what.accumulate); });
  });
  const double bytes = size_of(what.in) + size_of(what.out) * (what.accumulate ? 2.0 : 1.0);
  fill_in(row, what.name, reported, with, bytes, times);
  return row;
}

}  // namespace

result measure_unscale(const engine& on, element_type type, const settings& with) {
  const task what{.name = "unscale", .in = type, .out = element_type::float32, .factor = 0.5};
  return measure(on, type, with, what, [](auto& in, auto& out, const float* two) { unscale(in, out, two); });
}

result measure_scale(const engine& on, element_type type, const settings& with) {
  const task what{.name = "scale", .in = type, .out = type, .in_place = true, .factor = 2.0};
  return measure(on, type, with, what, [](auto& in, auto& out, const float* two) { scale(in, out, two); });
}

result measure_cast(const engine& on, element_type type, const settings& with) {
  const task what{.name = "cast", .in = element_type::float32, .out = type};
  return measure(on, type, with, what, [](auto& in, auto& out, const float*) { cast(in, out); });
}

result measure_accumulate(const engine& on, element_type type, const settings& with) {
  const task what{.name = "accumulate", .in = type, .out = element_type::float32, .accumulate = true, .factor = 0.5};
  return measure(on, type, with, what, [](auto& in, auto& out, const float* two) { accumulate(in, out, two); });
}

/// The inspector is made by the first call, outside the time that is measured.
result measure_inspect_unscale(const engine& on, element_type type, const settings& with) {
  const task what{.name = "inspect_unscale", .in = type, .out = element_type::float32, .factor = 0.5};
  std::optional<inspector> look;
  return measure(on, type, with, what, [&](const tensor_list& in, const tensor_list& out, const float* two) {
    if (!look) look.emplace(in);
    look->unscale(out, two);
  });
}

/// Clipping is for unscaled gradients, which are FP32 whatever the scaled ones are.
result measure_clip(const engine& on, element_type type, const settings& with) {
  const task what{
      .name = "clip", .in = element_type::float32, .out = element_type::float32, .in_place = true, .factor = 0.5};
  const buffer memory(on, sizeof(clip_result));
  auto* half = reinterpret_cast<clip_result*>(memory.data);
  *half = {.norm = 2.0f, .coefficient = 0.5f};
  result row = measure(on, type, with, what, [&](const tensor_list& in, const tensor_list&, const float* two) {
    half->coefficient = 1.0f / *two;
    clip(unscaled_gradients::never_scaled(in), half);
  });
  return row;
}

result measure_clear(const engine& on, element_type type, const settings& with) {
  const std::size_t bytes = with.elements * size_of(type);
  const buffer data(on, bytes);
  fill(data.data, with.elements, type);
  const tensor_list list(on, cut(data.data, type, with));
  result row;
  const std::uint64_t before = on.kernels_submitted();
  clear(list);
  row.kernels = on.kernels_submitted() - before;
  const inspector look(list);
  look();
  const inspection seen = look.result();
  row.verified = seen.zeros == with.elements;
  row.checksum = checksum(&seen, sizeof seen);
  const auto times = alternate(
      with.repetitions,
      [&] {
        clear(list);
        on.wait();
      },
      [&] { native::clear(data.data, bytes); });
  fill_in(row, "clear", type, with, size_of(type), times);
  return row;
}

}  // namespace syclamp::bench
