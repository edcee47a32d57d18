// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/device_memory.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/training.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEMPLATE_TEST_CASE("a step of each optimizer is what its definition says", "[optimizers]", float16, bfloat16, float32) {
  const engine& engine = any_engine();
  const optimizer_case& test_case = any_case();
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(engine.profile_name(), test_case.name, offset);
  training<TestType, copy_of<TestType>> run(engine, test_case.settings, offset);

  training_state before = run.read();
  for (std::uint64_t t = 1; t <= 3; ++t) {
    // With the same gradients again, the largest second moment would be the last, and Lion's sign that of the gradient.
    run.backward(static_cast<std::uint32_t>(10 * t));
    run.step(unscale_and_clip);
    const training_state after = run.read();
    CHECK(after.steps == t);
    CHECK(count_wrong(run, test_case.expected, before, after, unscaled_and_clipped, run.optimizer.states()) == 0);
    before = after;
  }
  CHECK(run.canaries_are_alive());
  CHECK(run.gradients.memory.read() == run.gradients.content);
}

TEMPLATE_TEST_CASE("LAMB and NovoGrad go by the norms of each tensor", "[optimizers]", float16, float32) {
  const engine& engine = any_engine();
  const auto& [name, settings, by] = any_tensor_wise_case();
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(engine.profile_name(), name, offset);
  training<TestType, copy_of<TestType>> run(engine, settings, offset);
  std::vector<double> second(std::size(sizes));

  training_state before = run.read();
  for (std::uint64_t t = 1; t <= 3; ++t) {
    run.backward(static_cast<std::uint32_t>(10 * t));
    run.step({0, 1.0f, 1.0f, 1.0f});
    run.step(unscale_and_clip);
    const training_state after = run.read();
    CHECK(after.steps == t);
    std::uint64_t place = 0, wrong = 0;
    for (std::size_t tensor = 0; tensor < std::size(sizes); ++tensor) {
      std::vector<double> g;
      std::vector<reference::element> now;
      for (std::uint64_t i = place; i < place + sizes[tensor]; ++i) {
        g.push_back(run.gradient(i) * unscaled_and_clipped);
        now.push_back({number(before.master[i]), {number(before.states[0][i]), number(before.states[1][i]), 0}});
      }
      const auto want = reference::step_of_tensor(by, t, g, now, second[tensor]);
      for (std::uint64_t i = 0; i < sizes[tensor]; ++i) {
        wrong += !is_near(number(after.master[place + i]), want[i].next.weight, want[i].weight_size);
        for (std::uint32_t k = 0; k < run.optimizer.states(); ++k)
          wrong += !is_near(number(after.states[k][place + i]), want[i].next.state[k], want[i].state_size[k]);
      }
      place += sizes[tensor] + 3;
    }
    CHECK(wrong == 0);
    before = after;
  }
  CHECK(run.canaries_are_alive());
}

TEST_CASE("LAMB's ratio of norms is 1 where one of them is 0", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> g(engine.queue(), {2.0f, 0.0f}), w(engine.queue(), {0.0f, 3.0f});
  fused_optimizer run(engine,
                      {{.gradient = {g.data(), 1}, .model = {w.data(), 1}},
                       {.gradient = {g.data() + 1, 1}, .model = {w.data() + 1, 1}}},
                      lamb{.lr = 0.5, .weight_decay = 0.0});
  run.apply();
  const auto weights = w.read();
  CHECK(std::abs(static_cast<double>(weights[0]) + 0.5) <= 0.5 * (32 * 0x1p-24 + 1e-6));  // u = 2 / (2 + eps)
  CHECK(weights[1] == 3.0f);
}

TEST_CASE("a step that is skipped leaves every bit as it was, the number of steps included", "[optimizers]") {
  const engine& engine = any_engine();
  const optimizer_case& test_case = any_case();
  CAPTURE(engine.profile_name(), test_case.name);
  training<float16, float16> run(engine, test_case.settings, 1);
  run.step(unscale_and_clip);
  const training_state before = run.read();

  run.step({0, 1.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f});

  CHECK(run.read() == before);
  CHECK(before.steps == 1);
}

TEST_CASE("gradients scaled by a power of two lead to the same bits", "[optimizers]") {
  const engine& engine = any_engine();
  const optimizer_case& test_case = any_case();
  const float factor = GENERATE(0x1p16f, 0x1p-14f, 0x1p120f);
  CAPTURE(engine.profile_name(), test_case.name, factor);
  training<float32, void> plain(engine, test_case.settings, 0), scaled(engine, test_case.settings, 0);
  const device_scalar device_factor(engine, factor);
  scale(scaled.gradients.list, scaled.gradients.list, device_factor);

  const bool is_large = factor > 0x1p100f;  // as the scaler unscales by such a scale
  for (int t = 0; t < 2; ++t) {
    plain.step({1, 1.0f, 1.0f, 0.75f});
    scaled.step({1, is_large ? 0x1p-64f : 1.0f, is_large ? 1.0f / (factor * 0x1p-64f) : 1.0f / factor, 0.75f});
  }
  CHECK(scaled.read() == plain.read());
}

TEST_CASE("two runs, and a tensor cut into a thousand, lead to the same bits", "[optimizers]") {
  constexpr std::uint64_t count = 200'003;
  const engine& engine = any_engine();
  const optimizer_case& test_case = any_case();
  CAPTURE(engine.profile_name(), test_case.name);
  const device_buffer<std::uint16_t> gradient(engine.queue(), finite_bits<float16>(count, 1));
  const auto weights = finite_bits<float16>(count, 2);

  const auto train = [&](std::uint64_t pieces) {
    const device_buffer<std::uint16_t> model(engine.queue(), weights);
    std::vector<parameter> all;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const std::uint64_t begin = count * i / pieces, size = count * (i + 1) / pieces - begin;
      all.push_back({.gradient = {gradient.data() + begin, size, element_type::float16},
                     .model = {model.data() + begin, size, element_type::float16}});
    }
    fused_optimizer run(engine, all, test_case.settings);
    for (int t = 0; t < 3; ++t) run.apply();
    std::vector<float> masters;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const auto part = run.weights(i);
      masters.insert(masters.end(), part.begin(), part.end());
    }
    return std::pair(model.read(), masters);
  };

  const auto whole = train(1);
  CHECK(train(1) == whole);
  CHECK(train(1000) == whole);
}

TEST_CASE("a variance that rounding makes negative is none", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  constexpr std::uint64_t count = 4097;
  const auto patterns = finite_bits<float32>(count, 1);
  const device_buffer<std::uint32_t> g(engine.queue(), patterns), w(engine.queue(), std::vector<std::uint32_t>(count));
  fused_optimizer run(
      engine,
      {{.gradient = {g.data(), count, element_type::float32}, .model = {w.data(), count, element_type::float32}}},
      rmsprop{.lr = 1.0, .alpha = 0.5, .eps = 1.0, .centered = true});

  // After 60 steps with equal gradients, the moments are g² and g, up to rounding.
  for (int t = 0; t < 60; ++t) run.apply();
  engine.queue().memset(w.data(), 0, count * sizeof(float));
  run.apply();

  std::uint64_t wrong = 0;
  const auto stepped = run.weights(0);
  // The square of the mean is wrong by 4 u, the mean of the squares by 3 u, their difference by one more, so that a
  // variance of at most 8 u · g² is left, with |g| < 2 and u = 2^-24: its root is less than 2^-9, beside an eps of 1.
  for (std::uint64_t i = 0; i < count; ++i) {
    const double want = -number(patterns[i]);
    wrong += !(std::abs(static_cast<double>(stepped[i]) - want) <= 0x1p-9 * std::abs(want));
  }
  CHECK(wrong == 0);
}

TEST_CASE("a step is one kernel that allocates nothing", "[optimizers]") {
  const engine& engine = all_engines().front();
  const device_buffer<float> g(engine.queue(), std::vector<float>(1000)), w(engine.queue(), std::vector<float>(1000));
  fused_optimizer run(engine, {{.gradient = {g.data(), 1000}, .model = {w.data(), 1000}}}, adamw{});
  const auto kernels = engine.statistics().kernels_submitted;
  const auto bytes = device_bytes_counter().load();

  run.apply();
  run.set_lr(0.1);
  run.apply();

  CHECK(engine.statistics().kernels_submitted == kernels + 2);
  CHECK(device_bytes_counter() == bytes);
  CHECK(run.steps() == 2);
}

TEST_CASE("settings and parameters that cannot be used are refused by name, with the remedy", "[optimizers]") {
  const engine& engine = all_engines().front();
  const device_buffer<float> g(engine.queue(), std::vector<float>(100)), w(engine.queue(), std::vector<float>(100));
  const std::vector<parameter> good{{.gradient = {g.data(), 10}, .model = {w.data(), 10}, .name = "weight"}};
  const auto refused = [&](const optimizer_settings& settings, const char* why) {
    CHECK_THROWS_MATCHES(fused_optimizer(engine, good, settings), invalid_argument,
                         MessageMatches(ContainsSubstring(why)));
  };
  refused(sgd{.lr = -1.0}, "lr is -1");
  refused(adamw{.lr = std::numeric_limits<double>::infinity()}, "lr is inf");
  refused(adamw{.betas = {0.9, 1.0}}, "betas[1] is 1");
  refused(adam{.eps = -1e-8}, "eps is -1e-08");
  refused(sgd{.nesterov = true}, "momentum = 0.9");
  refused(rmsprop{.alpha = 1.5}, "alpha is 1.5");

  const auto rejected = [&](std::vector<parameter> parameters, const char* why, const storage_options& storage = {}) {
    CHECK_THROWS_MATCHES(fused_optimizer(engine, parameters, adamw{}, storage), invalid_argument,
                         MessageMatches(ContainsSubstring(why)));
  };
  rejected({{.gradient = {g.data(), 10}, .name = "bias"}}, "\"bias\") has no weights");
  rejected({{.gradient = {g.data(), 10}, .model = {w.data(), 11}}}, "model has 11");
  rejected({{.gradient = {g.data(), 10, element_type::float8_e4m3}, .model = {w.data(), 10}}}, "float8_e4m3");
  rejected({{.gradient = {g.data(), 10}, .model = {g.data() + 5, 10}}}, "overlaps");
  rejected({{.gradient = {g.data(), 10}, .model = {w.data(), 10, element_type::float16}, .master = {w.data() + 2, 10}}},
           "overlaps");
  rejected(good, "bfloat16", {.moments = element_type::float16});
  CHECK_THROWS_MATCHES(fused_optimizer(engine, good, {adamw{}, sgd{}}), invalid_argument,
                       MessageMatches(ContainsSubstring("need the kernel sgd_step")));
  CHECK_THROWS_MATCHES(
      fused_optimizer(engine, {{.gradient = {g.data(), 10}, .model = {w.data(), 10}, .group = 2}}, {sgd{}, sgd{}}),
      invalid_argument, MessageMatches(ContainsSubstring("group 2")));

  fused_optimizer run(engine, good, adamw{});
  CHECK_THROWS_AS(run.set_lr(-1.0), invalid_argument);
  CHECK_THROWS_AS(run.set_lr(1.0, 1), invalid_argument);
  CHECK_THROWS_AS(run.set(sgd{}), invalid_argument);
  CHECK_THROWS_AS(run.set(adamw{.amsgrad = true}), invalid_argument);
  CHECK_THROWS_AS(run.set_schedule({.steps = 0}), invalid_argument);
  CHECK_THROWS_AS(run.state(0, 2), invalid_argument);
  CHECK_THROWS_AS(run.apply(step_inputs{run.gradients(), nullptr, false}), invalid_argument);
  CHECK_NOTHROW(run.set(adamw{.lr = 2.0}));
}
