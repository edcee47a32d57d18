// SPDX-License-Identifier: Apache-2.0
#include "apps/verify/short_bench.hpp"

#include "bench/data.hpp"
#include "bench/measure.hpp"

namespace syclamp::verify {
namespace {

using bytes = device_array<unsigned char>;

/// Gradients in device memory.
bytes filled(const engine& engine, std::uint64_t elements, element_type type) {
  std::vector<unsigned char> content(elements * bytes_per_element(type));
  bench::fill(content.data(), elements, type);
  return device_array(engine, content);
}

/// Two arrays between which the device copies.
struct copied_arrays {
  copied_arrays(const engine& engine, std::uint64_t bytes_each) : from(engine, bytes_each, 1), to(engine, bytes_each) {}
  bytes from, to;
};

struct measurement {
  const syclamp::engine& engine;
  std::uint64_t elements;
  int repetitions;

  bench_row against_copy(const char* op, element_type type, double bytes_per_element,
                         const std::function<void()>& submit) const {
    const copied_arrays copied(engine, elements * sizeof(float));
    const std::uint64_t submitted = engine.statistics().kernels_submitted;
    submit();
    const std::uint64_t kernels = engine.statistics().kernels_submitted - submitted;
    const auto times = bench::alternate(
        repetitions,
        [&] {
          submit();
          engine.wait();
        },
        [&] { engine.queue().memcpy(copied.to.data(), copied.from.data(), copied.from.size()).wait(); });
    const double count = static_cast<double>(elements);
    bench_row row{.op = op, .grad_type = to_string(type), .bytes_per_element = bytes_per_element};
    row.seconds_median = times.ours.median;
    row.seconds_min = times.ours.min;
    row.kernels = kernels;
    row.gbps = 1e-9 * bytes_per_element * count / times.ours.median;
    row.copy_gbps = 1e-9 * 2 * sizeof(float) * count / times.reference.min;
    return row;
  }

  bench_row inspect(element_type type) const {
    const bytes memory = filled(engine, elements, type);
    const inspector inspector(tensor_list(engine, const_array_view(memory.data(), elements, type)));
    return against_copy("inspect", type, bytes_per_element(type), [&] { inspector.run(); });
  }

  bench_row unscale(element_type type) const {
    const bytes memory = filled(engine, elements, type);
    const device_array<float> out(engine, elements);
    const tensor_list from(engine, const_array_view(memory.data(), elements, type)), to(engine, out);
    return against_copy("unscale", type, bytes_per_element(type) + 4.0, [&] { syclamp::unscale(from, to, 2.0f); });
  }

  bench_row cast(element_type type) const {
    const bytes memory = filled(engine, elements, element_type::float32);
    const bytes out(engine, elements * bytes_per_element(type));
    const tensor_list from(engine, const_array_view(memory.data(), elements, element_type::float32)),
        to(engine, array_view(out.data(), elements, type));
    return against_copy("cast", type, 4.0 + bytes_per_element(type), [&] { syclamp::cast(from, to); });
  }

  /// Inspect, clip, AdamW with FP32 master weights and moments, model copy, update of the scale.
  bench_row adamw_step_clip(element_type type) const {
    const bytes gradient = filled(engine, elements, type), model = filled(engine, elements, type);
    fused_optimizer optimizer(
        engine,
        {{.gradient = array_view(gradient.data(), elements, type), .model = array_view(model.data(), elements, type)}},
        adamw{});
    loss_scaler scaler(engine, {.init_scale = 1024});
    scaler.prepare(optimizer.gradients());
    const double copy = type == element_type::float32 ? 0 : bytes_per_element(type);
    return against_copy("adamw_step_clip", type, 2.0 * bytes_per_element(type) + copy + 24.0, [&] {
      scaler.begin_step();
      scaler.step(optimizer, {.max_norm = 1.0f});
      scaler.update();
    });
  }
};

}  // namespace

std::vector<bench_task> bench_tasks(const engine& engine, std::uint64_t elements, int repetitions) {
  using method = bench_row (measurement::*)(element_type) const;
  std::vector<bench_task> tasks;
  const auto add = [&](const char* op, element_type type, method measure) {
    tasks.push_back({op, type, [=] { return (measurement{engine, elements, repetitions}.*measure)(type); }});
  };
  for (const element_type type : {element_type::float16, element_type::bfloat16, element_type::float32}) {
    add("inspect", type, &measurement::inspect);
    add("unscale", type, &measurement::unscale);
    if (type != element_type::float32) add("cast", type, &measurement::cast);
    add("adamw_step_clip", type, &measurement::adamw_step_clip);
  }
  return tasks;
}

}  // namespace syclamp::verify
