// SPDX-License-Identifier: Apache-2.0
// Groups of tensors, and tensors that are absent on a step.
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/training.hpp"

using namespace syclamp;

TEST_CASE("groups have settings, decisions and steps of their own", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> g(engine.queue(), std::vector<float>(300, 1.0f)),
      w(engine.queue(), std::vector<float>(300, 0.0f));
  std::vector<parameter> all;
  for (std::uint32_t i = 0; i < 3; ++i)
    all.push_back({.gradient = {g.data() + 100 * i, 100}, .model = {w.data() + 100 * i, 100}, .group = i});
  fused_optimizer run(engine, all, {sgd{.lr = 1.0}, sgd{.lr = 2.0, .maximize = true}, sgd{.lr = 4.0}});
  const device_buffer<step_decision> decisions(engine.queue(),
                                               {step_decision{}, {1, 1.0f, 0.5f, 1.0f}, {0, 1.0f, 1.0f, 1.0f}});

  run.apply(step_inputs{run.gradients(), decisions.data(), true});
  run.apply(step_inputs{run.gradients(), decisions.data() + 1, false});

  const auto weights = w.read();
  CHECK(weights[0] == -1.0f - 0.5f);
  CHECK(weights[100] == 1.0f + 1.0f);
  CHECK(weights[200] == 0.0f - 2.0f);
  CHECK(run.steps(0) == 2);
  CHECK(run.steps(1) == 2);
  CHECK(run.steps(2) == 1);
}

TEST_CASE("a group of an optimizer is as good as an optimizer of its own, whichever is skipped", "[optimizers]") {
  using pair = std::vector<optimizer_settings>;
  const engine& engine = any_engine();
  const auto settings = GENERATE(pair{sgd{.lr = 0.1, .momentum = 0.9, .dampening = 0.5, .weight_decay = 0.1},
                                      sgd{.lr = 0.2, .momentum = 0.5, .nesterov = true, .maximize = true}},
                                 pair{adamw{.lr = 0.1}, adamw{.lr = 0.2, .betas = {0.5, 0.9}, .weight_decay = 0.3}},
                                 pair{lamb{.lr = 0.1}, lamb{.lr = 0.2, .betas = {0.5, 0.9}, .weight_decay = 0.3}},
                                 pair{novograd{}, novograd{.lr = 0.2, .betas = {0.5, 0.9}, .weight_decay = 0.3}});
  CAPTURE(engine.profile_name(), settings.front().index());
  constexpr std::uint64_t count = 1000;  // of each of four tensors, which take turns in the two groups
  const device_buffer<std::uint16_t> gradient(engine.queue(), finite_bits<float16>(4 * count, 1));
  const auto weights = finite_bits<float16>(4 * count, 2);
  const device_buffer<std::uint16_t> together(engine.queue(), weights), apart(engine.queue(), weights);
  const auto tensor = [&](const device_buffer<std::uint16_t>& model, std::uint64_t i, std::uint32_t group) {
    return parameter{.gradient = {gradient.data() + i * count, count, element_type::float16},
                     .model = {model.data() + i * count, count, element_type::float16},
                     .group = group};
  };
  fused_optimizer both(engine,
                       {tensor(together, 0, 0), tensor(together, 1, 1), tensor(together, 2, 0), tensor(together, 3, 1)},
                       settings);
  fused_optimizer first(engine, {tensor(apart, 0, 0), tensor(apart, 2, 0)}, settings[0]);
  fused_optimizer second(engine, {tensor(apart, 1, 0), tensor(apart, 3, 0)}, settings[1]);

  const std::vector<std::uint32_t> takes_first{0, 1, 1, 0, 1}, takes_second{1, 0, 1, 0, 1};
  for (std::size_t t = 0; t < takes_first.size(); ++t) {
    const device_buffer<step_decision> decisions(
        engine.queue(), {step_decision{takes_first[t], 1.0f, 0.5f, 0.75f}, {takes_second[t], 1.0f, 0.25f, 1.0f}});
    both.apply(step_inputs{both.gradients(), decisions.data(), true});
    first.apply(step_inputs{first.gradients(), decisions.data(), false});
    second.apply(step_inputs{second.gradients(), decisions.data() + 1, false});
    engine.wait();
  }

  CHECK(together.read() == apart.read());
  for (const std::size_t i : {0, 1}) {
    CHECK(both.weights(2 * i) == first.weights(i));
    CHECK(both.weights(2 * i + 1) == second.weights(i));
  }
  CHECK(together.read() != weights);
  CHECK(both.steps(0) == 3);
  CHECK(both.steps(1) == 3);
}

TEST_CASE("absent and empty tensors are left as they are, and a step without any counts", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> g(engine.queue(), {1.0f, 1.0f}), w(engine.queue(), {0.0f, 0.0f});
  float* const absent = nullptr;
  fused_optimizer run(engine,
                      {{.gradient = {absent, 1}, .model = {w.data(), 1}},
                       {.gradient = {g.data() + 1, 1}, .model = {w.data() + 1, 1}},
                       {.gradient = {absent, 0}}},
                      sgd{.lr = 1.0});
  run.apply();
  CHECK(w.read() == std::vector<float>{0.0f, -1.0f});
  CHECK(run.steps() == 1);

  fused_optimizer none(engine, std::vector<parameter>{}, sgd{});
  none.apply();
  CHECK(none.steps() == 1);
}

TEST_CASE("a tensor that was absent on the first step of its group goes by the steps of the group", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> g(engine.queue(), {1.0f, 1.0f}), w(engine.queue(), {0.0f, 0.0f});
  float* const absent = nullptr;
  const auto train = [&](const optimizer_settings& settings) {
    engine.queue().memset(w.data(), 0, 2 * sizeof(float)).wait();
    fused_optimizer run(engine,
                        {{.gradient = {g.data(), 1}, .model = {w.data(), 1}},
                         {.gradient = {g.data() + 1, 1}, .model = {w.data() + 1, 1}}},
                        settings);
    const tensor_list without(engine, {{g.data(), 1}, {absent, 1}});
    const device_decision yes(engine, step_decision{});
    run.apply(step_inputs{without, yes, false});
    engine.wait();
    CHECK(w.read()[1] == 0.0f);
    run.apply();
    engine.wait();
    CHECK(run.steps() == 2);
    return w.read();
  };

  // b = 0.5 · 0 + (1 - 0.75) · g: only the first step of a group begins its momentum with g.
  CHECK(train(sgd{.lr = 1.0, .momentum = 0.5, .dampening = 0.75}) == std::vector<float>{-1.0f - 0.75f, -0.25f});
  // v = 0.75 · 0 + (1 - 0.75) · g², so m = g / 0.5; the other tensor has v = 1, then 0.75 + 0.25.
  CHECK(train(novograd{.lr = 1.0, .betas = {0.5, 0.75}, .eps = 0.0}) == std::vector<float>{-1.0f - 1.5f, -2.0f});
  // Moments of one step, with the bias corrections of two; the other tensor takes steps of 1, for g never changes.
  const auto by_adam = train(adam{.lr = 1.0, .betas = {0.5, 0.75}, .eps = 0.0});
  const double step = 0.5 / (1 - 0.25) / std::sqrt(0.25 / (1 - 0.5625));
  CHECK(std::abs(by_adam[1] + step) <= 32 * 0x1p-24);
  CHECK(std::abs(by_adam[0] + 2.0f) <= 64 * 0x1p-24);
}
