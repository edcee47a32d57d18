// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "device_memory.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/device/devices.hpp"
#include "tests/device/training.hpp"
#include "tests/reference/random.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

const optimizer_case& any_case() {
  return optimizer_cases()[GENERATE(Catch::Generators::range(std::size_t{0}, optimizer_cases().size()))];
}

/// A copy of the weights as the gradients are stored; none for FP32.
template <typename Gradient>
using copy_of = std::conditional_t<std::is_same_v<Gradient, float32>, void, Gradient>;

/// Gradients that are scaled by 4 and to be clipped to three quarters.
constexpr step_verdict unscale_and_clip{1, 1.0f, 0.25f, 0.75f};
constexpr double unscaled_and_clipped = 0.25 * 0.75;

}  // namespace

TEMPLATE_TEST_CASE("a step of each optimizer is what its definition says", "[optimizers]", float16, bfloat16, float32) {
  const engine& on = any_engine();
  const optimizer_case& with = any_case();
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(on.profile_name(), with.name, offset);
  training<TestType, copy_of<TestType>> run(on, with.settings, offset);

  training_state before = run.read();
  for (std::uint64_t t = 1; t <= 3; ++t) {
    run.step(unscale_and_clip);
    const training_state after = run.read();
    CHECK(after.steps == t);
    CHECK(count_wrong(run, with.expected, before, after, unscaled_and_clipped, run.optimizer.states()) == 0);
    before = after;
  }
  CHECK(run.canaries_are_alive());
  CHECK(run.gradients.memory.read() == run.gradients.content);
}

TEMPLATE_TEST_CASE("LAMB and NovoGrad go by the norms of each tensor", "[optimizers]", float16, float32) {
  const engine& on = any_engine();
  const auto& [name, settings, by] = tensor_wise_cases()[GENERATE(0, 1)];
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(on.profile_name(), name, offset);
  training<TestType, copy_of<TestType>> run(on, settings, offset);
  std::vector<double> second(std::size(sizes));

  training_state before = run.read();
  for (std::uint64_t t = 1; t <= 3; ++t) {
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

TEST_CASE("a step that is skipped leaves every bit as it was, the number of steps included", "[optimizers]") {
  const engine& on = any_engine();
  const optimizer_case& with = any_case();
  CAPTURE(on.profile_name(), with.name);
  training<float16, float16> run(on, with.settings, 1);
  run.step(unscale_and_clip);
  const training_state before = run.read();

  run.step({0, 1.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f});

  CHECK(run.read() == before);
  CHECK(before.steps == 1);
}

TEST_CASE("gradients scaled by a power of two lead to the same bits", "[optimizers]") {
  const engine& on = any_engine();
  const optimizer_case& with = any_case();
  const float by = GENERATE(0x1p16f, 0x1p-14f, 0x1p120f);
  CAPTURE(on.profile_name(), with.name, by);
  training<float32, void> plain(on, with.settings, 0), scaled(on, with.settings, 0);
  const device_scalar factor(on, by);
  scale(scaled.gradients.list, scaled.gradients.list, factor);

  const bool is_large = by > 0x1p100f;  // as the scaler unscales by such a scale
  for (int t = 0; t < 2; ++t) {
    plain.step({1, 1.0f, 1.0f, 0.75f});
    scaled.step({1, is_large ? 0x1p-64f : 1.0f, is_large ? 1.0f / (by * 0x1p-64f) : 1.0f / by, 0.75f});
  }
  CHECK(scaled.read() == plain.read());
}

TEMPLATE_TEST_CASE("unscaling first and applying then leads to the same bits", "[optimizers]", float16, bfloat16) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const storage_options with_shadow{.unscaled_shadow = true};
  training<TestType, TestType> fused(on, adamw{}, 1), apart(on, adamw{}, 1, with_shadow);
  const device_scalar scale_value(on, 4.0f);
  const device_verdict clip_only(on, {1, 1.0f, 1.0f, 0.75f});

  for (int t = 0; t < 2; ++t) {
    fused.step(unscale_and_clip);
    unscale(apart.optimizer.gradients(), apart.optimizer.unscaled_gradients(), scale_value);
    apart.optimizer.apply(step_inputs{apart.optimizer.unscaled_gradients(), clip_only, false});
  }
  on.wait();

  CHECK(apart.read() == fused.read());
  CHECK_THROWS_MATCHES(fused.optimizer.unscaled_gradients(), misuse_error,
                       MessageMatches(ContainsSubstring("unscaled_shadow")));
}

TEST_CASE("two runs, and a tensor cut into a thousand, lead to the same bits", "[optimizers]") {
  constexpr std::uint64_t count = 200'003;
  const engine& on = any_engine();
  const optimizer_case& with = any_case();
  CAPTURE(on.profile_name(), with.name);
  const device_buffer<std::uint16_t> gradient(on.queue(), finite_bits<float16>(count, 1));
  const auto weights = finite_bits<float16>(count, 2);

  const auto train = [&](std::uint64_t pieces) {
    const device_buffer<std::uint16_t> model(on.queue(), weights);
    std::vector<parameter> all;
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const std::uint64_t begin = count * i / pieces, size = count * (i + 1) / pieces - begin;
      all.push_back({.gradient = {gradient.data() + begin, size, element_type::float16},
                     .model = {model.data() + begin, size, element_type::float16}});
    }
    fused_optimizer run(on, all, with.settings);
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

TEMPLATE_TEST_CASE("the copy of the weights may be of any type, the gradients of another", "[optimizers]",
                   OUTPUT_FORMATS) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const optimizer_case& with = optimizer_cases()[6];
  training<bfloat16, TestType> run(on, with.settings, 1);

  const training_state before = run.read();
  run.step(unscale_and_clip);
  CHECK(count_wrong(run, with.expected, before, run.read(), unscaled_and_clipped, run.optimizer.states()) == 0);
  CHECK(run.canaries_are_alive());
}

TEST_CASE("BF16 and its remainder are the FP32 weights, bit by bit", "[optimizers]") {
  const engine& on = any_engine();
  const optimizer_case& with = any_case();
  const auto moments = GENERATE(element_type::float32, element_type::bfloat16);
  CAPTURE(on.profile_name(), with.name, name_of(moments));
  constexpr std::uint64_t count = 70'003;
  const device_buffer<std::uint16_t> gradient(on.queue(), finite_bits<bfloat16>(count, 1));
  const auto weights = finite_bits<bfloat16>(count, 2);
  const device_buffer<std::uint16_t> copy(on.queue(), weights), part(on.queue(), weights);
  const auto describe = [&](const device_buffer<std::uint16_t>& model) {
    return std::vector<parameter>{{.gradient = {gradient.data(), count, element_type::bfloat16},
                                   .model = {model.data(), count, element_type::bfloat16}}};
  };
  fused_optimizer whole(on, describe(copy), with.settings, {.moments = moments});
  fused_optimizer split(on, describe(part), with.settings, {.moments = moments, .remainders = true});

  for (int t = 0; t < 4; ++t) {
    whole.apply();
    split.apply();
  }

  const auto expected = whole.weights(0);
  CHECK(split.weights(0) == expected);
  // The model is the nearest BF16, ties away from zero.
  std::vector<std::uint16_t> nearest;
  for (const float w : expected)
    nearest.push_back(static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(w) + 0x8000u) >> 16));
  CHECK(part.read() == nearest);
  CHECK(split.device_bytes() < whole.device_bytes());
}

TEST_CASE("moments in BF16 are FP32 moments rounded once a step, to nearest or at random", "[optimizers]") {
  const engine& on = any_engine();
  const auto how = GENERATE(rounding::to_nearest, rounding::stochastic);
  CAPTURE(on.profile_name(), how);
  constexpr std::uint64_t count = 70'003, seed = 0x123456789abcdef;
  const device_buffer<float> gradient(on.queue(), std::vector<float>(count));
  const auto patterns = finite_bits<float32>(count, 1);
  on.queue().memcpy(gradient.data(), patterns.data(), count * sizeof(float)).wait();
  const auto weights = finite_bits<bfloat16>(count, 2);
  const device_buffer<std::uint16_t> exact_model(on.queue(), weights), model(on.queue(), weights);
  const auto describe = [&](const device_buffer<std::uint16_t>& to) {
    return std::vector<parameter>{
        {.gradient = {gradient.data(), count}, .model = {to.data(), count, element_type::bfloat16}}};
  };
  fused_optimizer exact(on, describe(exact_model), adamw{.lr = 0.1});
  fused_optimizer rounded(on, describe(model), adamw{.lr = 0.1},
                          {.moments = element_type::bfloat16, .how = how, .seed = seed});
  exact.apply();
  rounded.apply();

  const auto want_weights = exact.weights(0);
  CHECK(rounded.weights(0) == want_weights);  // moments are rounded after they have been used
  std::uint64_t wrong = 0;
  const auto got_model = model.read();
  for (std::uint32_t k = 0; k < 2; ++k) {
    std::vector<float> want(count);
    std::vector<std::uint16_t> got(count);
    on.queue().memcpy(want.data(), exact.state(0, k).data(), count * 4);
    on.queue().memcpy(got.data(), rounded.state(0, k).data(), count * 2).wait();
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto [first, second] = reference::random_words(seed, 0, 0, i);
      const auto at_random = [&](float x, std::uint32_t bits) {
        return how == rounding::stochastic ? reference::encode_at_random(x, reference::brain16, bits)
                                           : reference::encode(static_cast<double>(x), reference::brain16);
      };
      wrong += got[i] != at_random(want[i], k == 0 ? second : second >> 16);
      wrong += got_model[i] != at_random(want_weights[i], first);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("groups have settings, verdicts and steps of their own", "[optimizers]") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> g(on.queue(), std::vector<float>(300, 1.0f)), w(on.queue(), std::vector<float>(300, 0.0f));
  std::vector<parameter> all;
  for (std::uint32_t i = 0; i < 3; ++i)
    all.push_back({.gradient = {g.data() + 100 * i, 100}, .model = {w.data() + 100 * i, 100}, .group = i});
  fused_optimizer run(on, all, {sgd{.lr = 1.0}, sgd{.lr = 2.0, .maximize = true}, sgd{.lr = 4.0}});
  const device_buffer<step_verdict> verdicts(on.queue(),
                                             {step_verdict{}, {1, 1.0f, 0.5f, 1.0f}, {0, 1.0f, 1.0f, 1.0f}});

  run.apply(step_inputs{run.gradients(), verdicts.data(), true});
  run.apply(step_inputs{run.gradients(), verdicts.data() + 1, false});

  const auto weights = w.read();
  CHECK(weights[0] == -1.0f - 0.5f);
  CHECK(weights[100] == 1.0f + 1.0f);
  CHECK(weights[200] == 0.0f - 2.0f);
  CHECK(run.steps(0) == 2);
  CHECK(run.steps(1) == 2);
  CHECK(run.steps(2) == 1);
}

TEST_CASE("the learning rate follows its schedule, by applied steps", "[optimizers]") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> g(on.queue(), {1.0f}), w(on.queue(), {0.0f});
  fused_optimizer run(on, {{.gradient = {g.data(), 1}, .model = {w.data(), 1}}}, sgd{.lr = 1.0});
  const device_verdict skip(on, {0, 1.0f, 1.0f, 1.0f});
  const auto taken = [&] {  // the learning rate of the next step: that is the step itself, from 0
    on.queue().memset(w.data(), 0, sizeof(float));
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
    const device_scalar mine(on, 0.125f);
    run.set_lr_source(mine);
    CHECK(taken() == 0.125);
    on.queue().fill(const_cast<float*>(static_cast<const float*>(mine)), 3.0f, 1);
    CHECK(taken() == 3.0);
    run.set_lr_source(nullptr);
    on.queue().fill(&run.device_hyper_parameters()->lr, 7.0f, 1);
    CHECK(taken() == 7.0);
    run.set(sgd{.lr = 0.5, .maximize = true});
    CHECK(taken() == -0.5);
  }
}

TEST_CASE("law 11: bias corrections are exact to a few units from the first step on", "[optimizers]") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const double beta = GENERATE(0.9, 0.999, 0.9999999);
  const device_buffer<float> g(on.queue(), {1.0f}), w(on.queue(), {0.0f});
  fused_optimizer run(on, {{.gradient = {g.data(), 1}, .model = {w.data(), 1}}},
                      adamw{.lr = 1.0, .betas = {beta, beta}, .eps = 0.0, .weight_decay = 0.0});
  // With equal gradients both corrected moments are 1 at any t, and so is every step.
  for (int t = 1; t <= 300; ++t) {
    on.queue().memset(w.data(), 0, sizeof(float));
    run.apply();
    const double step = -static_cast<double>(w.read()[0]);
    // The moments themselves are sums of t terms, each rounded three times.
    CHECK(std::abs(step - 1.0) <= (16 + 4 * t) * 0x1p-24);
  }
}

TEST_CASE("absent and empty tensors are left as they are, and a step without any counts", "[optimizers]") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> g(on.queue(), {1.0f, 1.0f}), w(on.queue(), {0.0f, 0.0f});
  const float* absent = nullptr;
  fused_optimizer run(on,
                      {{.gradient = {absent, 1}, .model = {w.data(), 1}},
                       {.gradient = {g.data() + 1, 1}, .model = {w.data() + 1, 1}},
                       {.gradient = {absent, 0}}},
                      sgd{.lr = 1.0});
  run.apply();
  CHECK(w.read() == std::vector<float>{0.0f, -1.0f});
  CHECK(run.steps() == 1);

  fused_optimizer none(on, std::vector<parameter>{}, sgd{});
  none.apply();
  CHECK(none.steps() == 1);
}

TEST_CASE("a step is one kernel that allocates nothing", "[optimizers]") {
  const engine& on = all_engines().front();
  const device_buffer<float> g(on.queue(), std::vector<float>(1000)), w(on.queue(), std::vector<float>(1000));
  fused_optimizer run(on, {{.gradient = {g.data(), 1000}, .model = {w.data(), 1000}}}, adamw{});
  const auto kernels = on.kernels_submitted();
  const auto bytes = device_bytes_counter().load();

  run.apply();
  run.set_lr(0.1);
  run.apply();

  CHECK(on.kernels_submitted() == kernels + 2);
  CHECK(device_bytes_counter() == bytes);
  CHECK(run.steps() == 2);
}

TEST_CASE("settings and parameters that cannot be used are refused by name, with the remedy", "[optimizers]") {
  const engine& on = all_engines().front();
  const device_buffer<float> g(on.queue(), std::vector<float>(100)), w(on.queue(), std::vector<float>(100));
  const std::vector<parameter> good{{.gradient = {g.data(), 10}, .model = {w.data(), 10}, .name = "weight"}};
  const auto refused = [&](const optimizer_settings& with, const char* why) {
    CHECK_THROWS_MATCHES(fused_optimizer(on, good, with), invalid_argument, MessageMatches(ContainsSubstring(why)));
  };
  refused(sgd{.lr = -1.0}, "lr is -1");
  refused(adamw{.lr = std::numeric_limits<double>::infinity()}, "lr is inf");
  refused(adamw{.betas = {0.9, 1.0}}, "betas[1] is 1");
  refused(adam{.eps = -1e-8}, "eps is -1e-08");
  refused(sgd{.nesterov = true}, "momentum = 0.9");
  refused(rmsprop{.alpha = 1.5}, "alpha is 1.5");
  refused(adadelta{.rho = 1.0}, "rho is 1");

  const auto rejected = [&](std::vector<parameter> of, const char* why, const storage_options& storage = {}) {
    CHECK_THROWS_MATCHES(fused_optimizer(on, of, adamw{}, storage), invalid_argument,
                         MessageMatches(ContainsSubstring(why)));
  };
  rejected({{.gradient = {g.data(), 10}, .name = "bias"}}, "\"bias\") has no weights");
  rejected({{.gradient = {g.data(), 10}, .model = {w.data(), 11}}}, "model of 11");
  rejected({{.gradient = {g.data(), 10, element_type::float8_e4m3}, .model = {w.data(), 10}}}, "float8_e4m3");
  rejected({{.gradient = {g.data(), 10}, .model = {g.data() + 5, 10}}}, "overlaps");
  rejected({{.gradient = {g.data(), 10}, .model = {w.data(), 10, element_type::float16}, .master = {w.data() + 2, 10}}},
           "overlaps");
  rejected(good, "bfloat16", {.moments = element_type::float16});
  CHECK_THROWS_MATCHES(fused_optimizer(on, good, {adamw{}, sgd{}}), invalid_argument,
                       MessageMatches(ContainsSubstring("another kernel (sgd_step)")));
  CHECK_THROWS_MATCHES(
      fused_optimizer(on, {{.gradient = {g.data(), 10}, .model = {w.data(), 10}, .group = 2}}, {sgd{}, sgd{}}),
      invalid_argument, MessageMatches(ContainsSubstring("group 2")));

  fused_optimizer run(on, good, adamw{});
  CHECK_THROWS_AS(run.set_lr(-1.0), invalid_argument);
  CHECK_THROWS_AS(run.set_lr(1.0, 1), invalid_argument);
  CHECK_THROWS_AS(run.set(sgd{}), invalid_argument);
  CHECK_THROWS_AS(run.set(adamw{.amsgrad = true}), invalid_argument);
  CHECK_THROWS_AS(run.set_schedule({.steps = 0}), invalid_argument);
  CHECK_THROWS_AS(run.state(0, 2), invalid_argument);
  CHECK_THROWS_AS(run.apply(step_inputs{run.gradients(), nullptr, false}), invalid_argument);
  CHECK_NOTHROW(run.set(adamw{.lr = 2.0}));
}
