// SPDX-License-Identifier: Apache-2.0
// Learning rates, by the schedule and the device, and bias corrections.
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/training.hpp"

using namespace syclamp;

TEST_CASE("the learning rate follows its schedule, by applied steps", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> g(engine.queue(), {1.0f}), w(engine.queue(), {0.0f});
  fused_optimizer run(engine, {{.gradient = {g.data(), 1}, .model = {w.data(), 1}}}, sgd{.lr = 1.0});
  const device_decision skip(engine, {0, 1.0f, 1.0f, 1.0f});
  const auto taken = [&] {  // the learning rate of the next step: that is the step itself, from 0
    engine.queue().memset(w.data(), 0, sizeof(float));
    run.apply(step_inputs{run.gradients(), skip, false});
    run.apply();
    return -static_cast<double>(w.read()[0]);
  };
  const auto is_close = [](double a, double b) { return std::abs(a - b) <= 8 * 0x1p-24 * b; };

  SECTION("cosine after warm-up") {
    run.set_schedule({.kind = lr_schedule::shape::cosine, .lowest = 0.1f, .warm_up = 4, .steps = 20});
    const double lowest = static_cast<double>(0.1f);
    for (std::uint64_t t = 0; t < 30; ++t) CHECK(is_close(taken(), reference::cosine_factor(t, 4, 20, lowest)));
  }
  SECTION("cosine to zero: the small end is relatively exact") {
    run.set_schedule({.kind = lr_schedule::shape::cosine, .steps = 50});
    for (std::uint64_t t = 0; t < 50; ++t) CHECK(is_close(taken(), reference::cosine_factor(t, 0, 50, 0.0)));
    CHECK(taken() == 0.0);
  }
  SECTION("steps") {
    run.set_schedule({.kind = lr_schedule::shape::decay, .gamma = 0.5f, .warm_up = 3, .steps = 2});
    for (std::uint64_t t = 0; t < 12; ++t) CHECK(is_close(taken(), reference::decay_factor(t, 3, 2, 0.5)));
  }
  SECTION("a constant, set by the host, and by the device") {
    CHECK(taken() == 1.0);
    run.set_lr(0.25);
    CHECK(taken() == 0.25);
    const device_scalar mine(engine, 0.125f);
    run.set_lr_source(mine.value());
    CHECK(taken() == 0.125);
    engine.queue().fill(mine.data(), 3.0f, 1);
    CHECK(taken() == 3.0);
    run.set_lr_source(std::nullopt);
    engine.queue().fill(&run.device_hyper_parameters()->lr, 7.0f, 1);
    CHECK(taken() == 7.0);
    run.set(sgd{.lr = 0.5, .maximize = true});
    CHECK(taken() == -0.5);
  }
}

TEST_CASE("law 11: bias corrections are exact to a few units from the first step on", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const double beta = GENERATE(0.9, 0.999, 0.9999999);
  const device_buffer<float> g(engine.queue(), {1.0f}), w(engine.queue(), {0.0f});
  fused_optimizer run(engine, {{.gradient = {g.data(), 1}, .model = {w.data(), 1}}},
                      adamw{.lr = 1.0, .betas = {beta, beta}, .eps = 0.0, .weight_decay = 0.0});
  // With equal gradients both corrected moments are 1 at any t, and so is every step.
  for (int t = 1; t <= 300; ++t) {
    engine.queue().memset(w.data(), 0, sizeof(float));
    run.apply();
    const double step = -static_cast<double>(w.read()[0]);
    // The moments themselves are sums of t terms, each rounded three times.
    CHECK(std::abs(step - 1.0) <= (16 + 4 * t) * 0x1p-24);
  }
}

TEST_CASE("the schedule holds for a learning rate of the device, and for decoupled decay", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> g(engine.queue(), {0.0f}), w(engine.queue(), {1.0f});
  fused_optimizer run(engine, {{.gradient = {g.data(), 1}, .model = {w.data(), 1}}},
                      adamw{.lr = 1.0, .weight_decay = 0.5});
  run.set_schedule({.warm_up = 4});
  const device_scalar mine(engine, 2.0f);

  // Without gradients there is nothing but decay: w = w - lr · decay · w, in powers of two.
  run.apply();
  CHECK(w.read()[0] == 1.0f - 0.25f * 0.5f);
  run.set_lr_source(mine.value());
  run.apply();
  CHECK(w.read()[0] == 0.875f - 0.5f * 2.0f * 0.5f * 0.875f);
}
