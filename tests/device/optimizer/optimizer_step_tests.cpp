// SPDX-License-Identifier: Apache-2.0
// Whole steps: inspect, apply, update; one after the other, and recorded into a SYCL graph.
#include <cstdint>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

constexpr std::uint64_t count = 70'003;
constexpr std::uint16_t infinity_bits = 0x7c00;

/// A model in FP16 with gradients that change from step to step, every fourth of which overflow.
struct model {
  explicit model(const engine& engine)
      : engine(engine),
        gradient(engine.queue(), std::vector<std::uint16_t>(count)),
        weights(engine.queue(), finite_bits<float16>(count, 100)),
        optimizer(engine,
                  {{.gradient = {gradient.data(), count / 2, element_type::float16},
                    .model = {weights.data(), count / 2, element_type::float16}},
                   {.gradient = {gradient.data() + count / 2, count - count / 2, element_type::float16},
                    .model = {weights.data() + count / 2, count - count / 2, element_type::float16}}},
                  adamw{.lr = 1e-2}),
        max_norm(engine, 0.01f),
        lr(engine, 1e-2f),
        scaler(engine, {.init_scale = 1024, .growth_interval = 3}) {
    for (std::uint32_t i = 0; i < kinds; ++i) {
      auto content = finite_bits<float16>(count, i);
      if (i == 3) content[count - 7] = infinity_bits;
      batches.push_back(std::make_unique<device_buffer<std::uint16_t>>(engine.queue(), content));
    }
    optimizer.set_lr_source(lr.value());
    scaler.prepare(optimizer.gradients());
  }

  /// What differs from step to step.
  void backward(int step) {
    engine.queue().memcpy(gradient.data(), batches[static_cast<std::size_t>(step) % kinds]->data(), count * 2);
    engine.queue().fill(lr.data(), 1e-2f / static_cast<float>(1 + step % 5), 1);
  }

  /// What is the same, and can be recorded.
  void step() {
    scaler.begin_step();
    scaler.step(optimizer, {.max_norm = max_norm});
    scaler.update();
  }

  std::vector<float> masters() const {
    auto all = optimizer.weights(0);
    const auto rest = optimizer.weights(1);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

  static constexpr std::uint32_t kinds = 4;
  syclamp::engine engine;
  device_buffer<std::uint16_t> gradient, weights;
  std::vector<std::unique_ptr<device_buffer<std::uint16_t>>> batches;
  fused_optimizer optimizer;
  device_scalar max_norm, lr;
  loss_scaler scaler;
};

}  // namespace

TEST_CASE(
    "a whole step is three kernels and one that checks the learning rate; an overflow changes nothing but the scale",
    "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  model run(engine), by_hand(engine);
  for (int i = 0; i < 10; ++i) {
    run.backward(i);
    const auto kernels = engine.statistics().kernels_submitted;
    run.step();
    CHECK(engine.statistics().kernels_submitted - kernels == 4);  // three if the learning rate is not in device memory
    engine.wait();

    // The same, unscaled by the scale and clipped by the factor that the ledger tells, and left out if it was skipped.
    const step_record record = run.scaler.outcome();
    CHECK(record.was_applied() == (i % 4 != 3));
    if (record.was_applied()) {
      CHECK(record.clip < 1.0f);
      const device_buffer<step_decision> decision(engine.queue(),
                                                  {step_decision{1, 1.0f, 1.0f / record.scale, record.clip}});
      by_hand.backward(i);
      by_hand.optimizer.apply(step_inputs{by_hand.optimizer.gradients(), decision.data(), false});
      engine.wait();
    }
  }
  CHECK(run.optimizer.steps() == 8);
  CHECK(by_hand.optimizer.steps() == 8);
  CHECK(run.masters() == by_hand.masters());
  CHECK(run.weights.read() == by_hand.weights.read());
}

TEST_CASE("a step that was recorded once and replayed a thousand times leads to the same bits", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const int steps = engine.profile_name() == "cpu" ? 1000 : 20;  // the others are slow on a CPU
  model direct(engine), recorded(engine);
  recorded_step step(engine, [&] { recorded.step(); });
  for (int i = 0; i < steps; ++i) {
    direct.backward(i);
    direct.step();
    recorded.backward(i);
    step();
  }
  engine.wait();

  CHECK(direct.optimizer.steps() == static_cast<std::uint64_t>(steps) * 3 / 4);
  CHECK(recorded.optimizer.steps() == direct.optimizer.steps());
  CHECK(recorded.masters() == direct.masters());
  CHECK(recorded.weights.read() == direct.weights.read());
  CHECK(recorded.scaler.get_scale() == direct.scaler.get_scale());
}
