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
  training(const engine& engine, const settings& with, bool clips)
      : on(engine),
        gradient(on, with.elements * sizeof(std::uint16_t)),
        model(on, with.elements * sizeof(std::uint16_t)),
        scalar(on, sizeof(float)),
        optimizer(on, parameters(with), adamw{}),
        scaler(on, {.mode = scaling_mode::fixed, .init = 1024}),
        max_norm(clips ? reinterpret_cast<float*>(scalar.data) : nullptr) {
    constexpr float one = 1.0f;
    std::memcpy(scalar.data, &one, sizeof one);
    scaler.prepare(optimizer.gradients());
  }

  std::vector<parameter> parameters(const settings& with) const {
    fill(gradient.data, with.elements, element_type::float16);
    std::memset(model.data, 0, with.elements * sizeof(std::uint16_t));
    std::vector<parameter> all;
    const auto gradients = cut(gradient.data, element_type::float16, with);
    const auto weights = cut(model.data, element_type::float16, with);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      all.push_back({.gradient = gradients[i].elements, .model = weights[i].elements});
    return all;
  }

  /// Submits a step.
  void step() {
    scaler.scaled_by_caller();
    scaler.step(optimizer, max_norm);
    scaler.update();
  }

  engine on;
  buffer gradient, model, scalar;
  fused_optimizer optimizer;
  loss_scaler scaler;
  float* max_norm;
};

cost summary(const comparison& times, bool verified) { return {times.ours.median, times.reference.median, verified}; }

/// The last gradient of all is Inf, so that nothing can be left out.
std::optional<cost> skipped_step(const engine& on, const settings& with) {
  training run(on, with, true);
  auto* last = reinterpret_cast<std::uint16_t*>(run.gradient.data) + with.elements - 1;
  constexpr std::uint16_t infinite = 0x7c00, finite = 0x3c00;
  const auto step_with = [&](std::uint16_t bits) {
    *last = bits;
    run.step();
    on.wait();
  };
  step_with(infinite);
  const bool is_skipped = run.optimizer.steps() == 0;
  step_with(finite);
  const bool is_applied = run.optimizer.steps() == 1;
  const auto times = alternate(with.repetitions, [&] { step_with(infinite); }, [&] { step_with(finite); });
  return summary(times, is_skipped && is_applied);
}

std::optional<cost> loss_scaling(const engine& on, const settings& with) {
  training run(on, with, false);
  const auto times = alternate(
      with.repetitions,
      [&] {
        run.step();
        on.wait();
      },
      [&] {
        run.optimizer.apply();
        on.wait();
      });
  const auto calls = 2 * (static_cast<std::uint64_t>(with.repetitions) + 2);
  return summary(times, run.optimizer.steps() == calls);
}

// --- Host time: until the call returns, on a queue that has nothing to do -------------------------------------------

constexpr settings small_model{.elements = 100'000, .tensors = 50, .repetitions = 1001};

double host_seconds(const engine& on, const std::function<void()>& submit) {
  on.wait();
  const auto start = std::chrono::steady_clock::now();
  submit();
  const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  on.wait();
  return taken;
}

/// Gradients that a framework has allocated anew, in an order of its own, as every other step does.
std::optional<cost> new_addresses(const engine& on, const settings&) {
  constexpr settings many{.elements = 160'000, .tensors = 10'000, .repetitions = 101};
  training run(on, many, true);
  const buffer others(on, many.elements * sizeof(std::uint16_t));
  fill(others.data, many.elements, element_type::float16);
  std::array<std::vector<const void*>, 2> places;
  for (const tensor& one : cut(run.gradient.data, element_type::float16, many))
    places[0].push_back(one.elements.data());
  for (const tensor& one : cut(others.data, element_type::float16, many)) places[1].push_back(one.elements.data());
  // All have the same size; 7919 has no factor in common with their number.
  std::vector<const void*> shuffled;
  for (std::size_t i = 0; i < many.tensors; ++i) shuffled.push_back(places[1][i * 7919 % many.tensors]);
  places[1] = shuffled;
  tensor_list gradients = run.optimizer.gradients();
  std::vector<double> ours, unchanged;
  bool are_set = true;
  for (std::size_t i = 0; i < static_cast<std::size_t>(many.repetitions); ++i) {
    const auto& next = places[(i + 1) % 2];
    ours.push_back(host_seconds(on, [&] {
      gradients.set_addresses(next);
      run.step();
    }));
    are_set = are_set && gradients[many.tensors / 3].data() == next[many.tensors / 3];
    unchanged.push_back(host_seconds(on, [&] { run.step(); }));
  }
  const bool are_applied = run.optimizer.steps() == 2 * static_cast<std::uint64_t>(many.repetitions);
  return cost{median(ours), median(unchanged), are_set && are_applied};
}

#if defined(SYCL_EXT_ONEAPI_KERNEL_COMPILER)

namespace experimental = sycl::ext::oneapi::experimental;

sycl::kernel_bundle<sycl::bundle_state::executable> empty_kernels(const engine& on) {
  auto text = experimental::create_kernel_bundle_from_source(
      on.queue().get_context(), experimental::source_language::sycl,
      "#include <sycl/sycl.hpp>\n"
      "extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::single_task_kernel))\n"
      "void nothing() {}\n");
  return experimental::build(text, {on.queue().get_device()});
}

std::optional<cost> host_cost(const engine& on, const std::function<void()>& submit) {
  sycl::device device = on.queue().get_device();
  if (!device.ext_oneapi_can_build(experimental::source_language::sycl)) return {};
  auto bundle = empty_kernels(on);
  sycl::kernel nothing = bundle.ext_oneapi_get_kernel("nothing");
  const auto launch = [&] { on.queue().submit([&](sycl::handler& handler) { handler.single_task(nothing); }); };
  std::vector<double> ours, empty;
  for (int i = 0; i < small_model.repetitions; ++i) {
    ours.push_back(host_seconds(on, submit));
    empty.push_back(host_seconds(on, launch));
  }
  return cost{median(ours), median(empty), false};
}

std::optional<cost> host_step(const engine& on, const settings&) {
  training run(on, small_model, true);
  auto row = host_cost(on, [&] { run.step(); });
  if (row) row->verified = run.optimizer.steps() == static_cast<std::uint64_t>(small_model.repetitions);
  return row;
}

std::optional<cost> host_step_recorded(const engine& on, const settings&) {
  training run(on, small_model, true);
  recorded_step step(on, [&] { run.step(); });
  if (!step.is_recorded()) return {};
  auto row = host_cost(on, [&] { step(); });
  if (row) row->verified = run.optimizer.steps() == static_cast<std::uint64_t>(small_model.repetitions);
  return row;
}

#endif

}  // namespace

const std::vector<cost_row>& costs() {
  static const std::vector<cost_row> all = {
      {"skipped_step", "an AdamW step with clipping that is skipped, over one that is applied", skipped_step},
      {"loss_scaling", "scaler.step(AdamW) and update(), over apply() alone", loss_scaling},
      {"new_addresses", "host time of a step with new addresses of 10000 tensors, over one with the same",
       new_addresses},
#if defined(SYCL_EXT_ONEAPI_KERNEL_COMPILER)
      {"host_step", "host time of a step, 100000 parameters in 50 tensors, over an empty kernel's", host_step},
      {"host_step_recorded", "the same with the step recorded as a graph", host_step_recorded},
#endif
  };
  return all;
}

}  // namespace syclamp::bench
