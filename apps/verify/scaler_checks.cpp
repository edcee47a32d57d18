// SPDX-License-Identifier: Apache-2.0
// The scaler on the device: recorded traces against the host's rules, and replayed graphs against direct calls.
#include <fmt/format.h>

#include "apps/support/trace_replay.hpp"
#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"

namespace syclamp::verify {
namespace {

/// Growth, hysteresis, the floor and persistent NaNs of every preset.
constexpr const char* trace = ".....i..n.ii...........iiii....nnnnnnnnnnnnnnnnnnnn....i........";

std::string trace_difference(const engine& engine) {
  const auto steps = read_trace(trace);
  std::string all;
  for (const preset_info& preset : scaling_presets()) {
    scaling_policy policy = scaling_preset(preset.name);
    policy.growth_interval = 3;
    add_difference(
        all, preset.name,
        compare_traces(program::replay_on_device(engine, policy, steps), program::replay_on_host(policy, steps)));
  }
  return all;
}

/// AdamW on FP16 gradients, which now and then overflow.
struct small_training {
  explicit small_training(const engine& engine)
      : gradient(engine, finite_gradients<float16>(elements, 0), 0),
        model(engine, finite_gradients<float16>(elements, 1), 0),
        optimizer(engine, {{.gradient = gradient.view(), .model = model.view()}}, adamw{.lr = 0.01}),
        scaler(engine, {.init_scale = 8, .growth_interval = 3}) {
    scaler.prepare(optimizer.gradients());
  }

  void backward(std::uint32_t step) {
    auto content = finite_gradients<float16>(elements, step);
    if (step % 5 == 3) content[step] = float16::infinity;
    if (step % 7 == 5) content.back() = float16::quiet_nan;
    gradient.write(content);
  }

  void step() {
    scaler.begin_step();
    scaler.step(optimizer, {.max_norm = 0.5f});
    scaler.update();
  }

  static constexpr std::uint64_t elements = 70'001;
  guarded_tensor<float16> gradient, model;
  fused_optimizer optimizer;
  loss_scaler scaler;
};

check_result replay_graph(const engine& engine) {
  small_training direct(engine), recorded(engine);
  engine.wait();
  recorded_step replay(engine, [&] { recorded.step(); });
  constexpr std::uint32_t steps = 12;
  for (std::uint32_t i = 0; i < steps; ++i) {
    for (small_training* training : {&direct, &recorded}) training->backward(i);
    direct.step();
    replay();
    engine.wait();
    std::string difference = compare_records(recorded.scaler.outcome(), direct.scaler.outcome());
    if (difference.empty())
      difference = in_part("model", compare_bits(recorded.model.read(), direct.model.read(), reference::binary16));
    if (!difference.empty()) return {check_outcome::failed, fmt::format("step {}: {}", i + 1, difference)};
  }
  return {check_outcome::passed, replay.is_recorded()
                                     ? fmt::format("{} steps, bit-identical to direct calls", steps)
                                     : fmt::format("no SYCL graphs here: {} steps call by call", steps)};
}

}  // namespace

std::vector<check> scaler_checks(const engine& engine, const settings&) {
  return {{"scaler traces",
           "Update the driver of the device and run verify again. `syclamp simulate --where host` shows the expected "
           "scales.",
           [engine] {
             return passed_unless(trace_difference(engine),
                                  fmt::format("{} presets, bit-identical to the host", scaling_presets().size()));
           }},
          {"graph replay", "Pass recording::never to recorded_step until the driver is updated.",
           [engine] { return replay_graph(engine); }}};
}

}  // namespace syclamp::verify
