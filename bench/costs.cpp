// SPDX-License-Identifier: Apache-2.0
#include "bench/costs.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "bench/data.hpp"

namespace syclamp::bench {
namespace {

/// AdamW with FP16 gradients and copy, and a scaler.
struct training {
  training(const engine& engine, const settings& options, bool clips)
      : engine(engine),
        gradient(engine, options.elements * sizeof(std::uint16_t)),
        model(engine, options.elements * sizeof(std::uint16_t)),
        scalar(engine, sizeof(float)),
        optimizer(engine, parameters(options), adamw{}),
        scaler(engine, {.mode = scaling_mode::fixed, .init_scale = 1024}),
        options{.max_norm = clips ? std::optional<syclamp::scalar>(1.0f) : std::nullopt} {
    constexpr float value = 1.0f;
    std::memcpy(scalar.data, &value, sizeof value);
    scaler.prepare(optimizer.gradients());
  }

  std::vector<parameter> parameters(const settings& options) const {
    fill(gradient.data, options.elements, element_type::float16);
    std::memset(model.data, 0, options.elements * sizeof(std::uint16_t));
    std::vector<parameter> all;
    const auto gradients = cut(gradient.data, element_type::float16, options);
    const auto weights = cut(model.data, element_type::float16, options);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      all.push_back({.gradient = view_of(gradients[i]), .model = view_of(weights[i])});
    return all;
  }

  /// Submits a step.
  void step() {
    scaler.begin_step();
    scaler.step(optimizer, options);
    scaler.update();
  }

  syclamp::engine engine;
  buffer gradient, model, scalar;
  fused_optimizer optimizer;
  loss_scaler scaler;
  step_options options;
};

cost summary(const comparison& times, bool verified) { return {times.ours.median, times.reference.median, verified}; }

/// The very last gradient is Inf, so that the whole list must be read.
std::optional<cost> skipped_step(const engine& engine, const settings& options) {
  training run(engine, options, true);
  auto* last = reinterpret_cast<std::uint16_t*>(run.gradient.data) + options.elements - 1;
  constexpr std::uint16_t infinite = 0x7c00, finite = 0x3c00;
  const auto step_with = [&](std::uint16_t bits) {
    *last = bits;
    run.step();
    engine.wait();
  };
  step_with(infinite);
  const bool is_skipped = run.optimizer.steps() == 0;
  step_with(finite);
  const bool is_applied = run.optimizer.steps() == 1;
  const auto times = alternate(options.repetitions, [&] { step_with(infinite); }, [&] { step_with(finite); });
  return summary(times, is_skipped && is_applied);
}

std::optional<cost> loss_scaling(const engine& engine, const settings& options) {
  training run(engine, options, false);
  const auto times = alternate(
      options.repetitions,
      [&] {
        run.step();
        engine.wait();
      },
      [&] {
        run.optimizer.apply();
        engine.wait();
      });
  const auto calls = 2 * (static_cast<std::uint64_t>(options.repetitions) + 2);
  return summary(times, run.optimizer.steps() == calls);
}

// --- Host time: until the call returns, on a queue that has nothing to do -------------------------------------------

double host_seconds(const engine& engine, const std::function<void()>& submit) {
  engine.wait();
  const auto start = std::chrono::steady_clock::now();
  submit();
  const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  engine.wait();
  return taken;
}

/// Every other step has gradients at new addresses in another order, as if a framework had reallocated them.
std::optional<cost> new_addresses(const engine& engine, const settings&) {
  constexpr settings many{.elements = 160'000, .tensors = 10'000, .repetitions = 101};
  training run(engine, many, true);
  const buffer others(engine, many.elements * sizeof(std::uint16_t));
  fill(others.data, many.elements, element_type::float16);
  std::array<std::vector<void*>, 2> places;
  for (const tensor& tensor : cut(run.gradient.data, element_type::float16, many))
    places[0].push_back(tensor.data.writable_address());
  for (const tensor& tensor : cut(others.data, element_type::float16, many))
    places[1].push_back(tensor.data.writable_address());
  // All have the same size; 7919 has no factor in common with their number.
  std::vector<void*> shuffled;
  for (std::size_t i = 0; i < many.tensors; ++i) shuffled.push_back(places[1][i * 7919 % many.tensors]);
  places[1] = shuffled;
  tensor_list gradients = run.optimizer.gradients();
  std::vector<double> ours, unchanged;
  bool are_set = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(many.repetitions); ++i) {
    const auto& next = places[(i + 1) % 2];
    ours.push_back(host_seconds(engine, [&] {
      gradients.set_addresses(next);
      run.step();
    }));
    are_set = are_set && gradients[many.tensors / 3].data() == next[many.tensors / 3];
    unchanged.push_back(host_seconds(engine, [&] { run.step(); }));
  }
  const bool are_applied = run.optimizer.steps() == 2 * static_cast<std::uint64_t>(many.repetitions);
  return cost{median(ours), median(unchanged), are_set && are_applied};
}

#if defined(SYCL_EXT_ONEAPI_KERNEL_COMPILER)

namespace experimental = sycl::ext::oneapi::experimental;

constexpr settings small_model{.elements = 100'000, .tensors = 50, .repetitions = 1001};

sycl::kernel_bundle<sycl::bundle_state::executable> empty_kernels(const engine& engine) {
  auto text = experimental::create_kernel_bundle_from_source(
      engine.queue().get_context(), experimental::source_language::sycl,
      "#include <sycl/sycl.hpp>\n"
      "extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::single_task_kernel))\n"
      "void nothing() {}\n");
  return experimental::build(text, {engine.queue().get_device()});
}

std::optional<cost> host_cost(const engine& engine, const std::function<void()>& submit) {
  sycl::device device = engine.queue().get_device();
  if (!device.ext_oneapi_can_build(experimental::source_language::sycl)) return {};
  auto bundle = empty_kernels(engine);
  sycl::kernel nothing = bundle.ext_oneapi_get_kernel("nothing");
  const auto launch = [&] { engine.queue().submit([&](sycl::handler& handler) { handler.single_task(nothing); }); };
  std::vector<double> ours, empty;
  for (int i = 0; i < small_model.repetitions; ++i) {
    ours.push_back(host_seconds(engine, submit));
    empty.push_back(host_seconds(engine, launch));
  }
  return cost{median(ours), median(empty), false};
}

std::optional<cost> host_step(const engine& engine, const settings&) {
  training run(engine, small_model, true);
  auto row = host_cost(engine, [&] { run.step(); });
  if (row) row->verified = run.optimizer.steps() == static_cast<std::uint64_t>(small_model.repetitions);
  return row;
}

std::optional<cost> host_step_recorded(const engine& engine, const settings&) {
  training run(engine, small_model, true);
  recorded_step step(engine, [&] { run.step(); });
  if (!step.is_recorded()) return {};
  auto row = host_cost(engine, [&] { step(); });
  if (row) row->verified = run.optimizer.steps() == static_cast<std::uint64_t>(small_model.repetitions);
  return row;
}

#endif

}  // namespace

const std::vector<cost_row>& costs() {
  static const std::vector<cost_row> all = {
      {"skipped_step", "skipped AdamW step with clipping / applied step", skipped_step},
      {"loss_scaling", "scaler.step(AdamW) and update() / AdamW's apply() alone", loss_scaling},
      {"new_addresses", "host time of a step with new addresses of 10000 tensors / with unchanged addresses",
       new_addresses},
#if defined(SYCL_EXT_ONEAPI_KERNEL_COMPILER)
      {"host_step", "host time of a step with 100000 parameters in 50 tensors / of an empty kernel", host_step},
      {"host_step_recorded", "host time of the same step recorded as a graph / of an empty kernel", host_step_recorded},
#endif
  };
  return all;
}

}  // namespace syclamp::bench
