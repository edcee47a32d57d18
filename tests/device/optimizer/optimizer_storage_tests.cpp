// SPDX-License-Identifier: Apache-2.0
// Weights and moments in other types than FP32.
#include <bit>
#include <cstdint>
#include <variant>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/reference/random.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/training.hpp"

using namespace syclamp;

TEMPLATE_TEST_CASE("the copy of the weights may be of any type, the gradients of another", "[optimizers]",
                   OUTPUT_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const optimizer_case& test_case = optimizer_case_named("adamw");
  training<bfloat16, TestType> run(engine, test_case.settings, 1);

  const training_state before = run.read();
  run.step(unscale_and_clip);
  CHECK(count_wrong(run, test_case.expected, before, run.read(), unscaled_and_clipped, run.optimizer.states()) == 0);
  CHECK(run.canaries_are_alive());
}

TEST_CASE("BF16 and its remainder are the FP32 weights, bit for bit", "[optimizers]") {
  const engine& engine = any_engine();
  const optimizer_case& test_case = any_case();
  const auto moments = GENERATE(element_type::float32, element_type::bfloat16);
  CAPTURE(engine.profile_name(), test_case.name, to_string(moments));
  constexpr std::uint64_t count = 70'003;
  const device_buffer<std::uint16_t> gradient(engine.queue(), finite_bits<bfloat16>(count, 1));
  const auto weights = finite_bits<bfloat16>(count, 2);
  const device_buffer<std::uint16_t> copy(engine.queue(), weights), part(engine.queue(), weights);
  const auto describe = [&](const device_buffer<std::uint16_t>& model) {
    return std::vector<parameter>{{.gradient = {gradient.data(), count, element_type::bfloat16},
                                   .model = {model.data(), count, element_type::bfloat16}}};
  };
  fused_optimizer whole(engine, describe(copy), test_case.settings, {.moments = moments});
  fused_optimizer split(engine, describe(part), test_case.settings, {.moments = moments, .remainders = true});

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

TEST_CASE("moments in BF16 are FP32 moments rounded once per step, to nearest or at random", "[optimizers]") {
  const engine& engine = any_engine();
  const auto mode = GENERATE(rounding::to_nearest, rounding::stochastic);
  const auto settings = GENERATE(values<optimizer_settings>(
      {adamw{.lr = 0.1}, adamw{.lr = 0.1, .amsgrad = true}, lamb{.lr = 0.1}, novograd{.lr = 0.1}}));
  const bool is_lamb = std::holds_alternative<lamb>(settings);
  CAPTURE(engine.profile_name(), mode, settings.index());
  constexpr std::uint64_t counts[] = {65, 70'003}, seed = 0x123456789abcdef;
  constexpr std::uint64_t total = counts[0] + counts[1];
  const auto patterns = finite_bits<float32>(total, 1);
  const device_buffer<std::uint32_t> gradient(engine.queue(), patterns);
  const auto weights = finite_bits<bfloat16>(total, 2);
  const device_buffer<std::uint16_t> exact_model(engine.queue(), weights), model(engine.queue(), weights);
  const auto describe = [&](const device_buffer<std::uint16_t>& to) {
    std::vector<parameter> all;
    for (const std::uint64_t begin : {std::uint64_t{0}, counts[0]})
      all.push_back({.gradient = {gradient.data() + begin, counts[all.size()], element_type::float32},
                     .model = {to.data() + begin, counts[all.size()], element_type::bfloat16}});
    return all;
  };
  fused_optimizer exact(engine, describe(exact_model), settings);
  fused_optimizer rounded(engine, describe(model), settings,
                          {.moments = element_type::bfloat16, .rounding_mode = mode, .seed = seed});
  const auto encode = [&](float x, std::uint32_t bits) {
    return mode == rounding::stochastic ? reference::encode_at_random(x, reference::bf16, bits)
                                        : reference::encode(static_cast<double>(x), reference::bf16);
  };

  for (std::uint64_t t = 0; t < 3; ++t) {
    exact.apply();
    rounded.apply();
    const auto got_model = model.read();
    std::uint64_t wrong = 0, place = 0;
    for (std::uint32_t tensor = 0; tensor < 2; ++tensor) {
      const std::uint64_t count = counts[tensor];
      // Moments are rounded after they have been used; but LAMB's last pass makes its update from the rounded ones.
      const auto want_weights = is_lamb ? rounded.weights(tensor) : exact.weights(tensor);
      CHECK(rounded.weights(tensor) == want_weights);
      for (std::uint32_t k = 0; k < rounded.states(); ++k) {
        std::vector<float> want(count);
        std::vector<std::uint16_t> got(count);
        engine.queue().memcpy(want.data(), exact.state(tensor, k).data(), count * 4);
        engine.queue().memcpy(got.data(), rounded.state(tensor, k).data(), count * 2).wait();
        for (std::uint64_t i = 0; i < count; ++i) {
          const auto [first, second] = reference::random_words(seed, t, tensor, i);
          wrong += got[i] != encode(want[i], k == 0 ? second : k == 1 ? second >> 16 : first >> 16);
          if (k == 0) wrong += got_model[place + i] != encode(want_weights[i], first);
          want[i] = std::bit_cast<float>(std::uint32_t{got[i]} << 16);
        }
        // The next step of both begins with the same numbers.
        engine.queue().memcpy(exact.state(tensor, k).data(), want.data(), count * 4).wait();
      }
      place += count;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Adagrad's sums begin with the value that is given, rounded to the type of the moments", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  // 0.3, which BF16 rounds up, and two numbers half way between two of BF16, which go to the even one.
  const auto [bits, nearest] =
      GENERATE(table<std::uint32_t, std::uint16_t>({{0x3e99999a, 0x3e9a}, {0x3e988000, 0x3e98}, {0x3e998000, 0x3e9a}}));
  const float value = std::bit_cast<float>(bits);
  const adagrad settings{.initial_accumulator_value = static_cast<double>(value)};
  const device_buffer<float> g(engine.queue(), std::vector<float>(8)), w(engine.queue(), std::vector<float>(8));
  const device_buffer<std::uint32_t> given(engine.queue(),
                                           {1, 2, 3});  // sums that somebody brings: they stay as they are
  const std::vector<parameter> all{
      {.gradient = {g.data(), 3}, .model = {w.data(), 3}},
      {.gradient = {g.data() + 3, 2}, .model = {w.data() + 3, 2}},
      {.gradient = {g.data() + 5, 3}, .model = {w.data() + 5, 3}, .states = {given.data()}}};
  const fused_optimizer single(engine, all, settings), bf16(engine, all, settings, {.moments = element_type::bfloat16});

  for (const std::size_t tensor : {0u, 1u}) {
    const std::uint64_t count = all[tensor].gradient.count();
    std::vector<float> sum(count);
    std::vector<std::uint16_t> rounded(count);
    engine.queue().memcpy(sum.data(), single.state(tensor, 0).data(), count * sizeof(float));
    engine.queue().memcpy(rounded.data(), bf16.state(tensor, 0).data(), count * sizeof(std::uint16_t)).wait();
    CHECK(sum == std::vector<float>(count, value));
    CHECK(rounded == std::vector<std::uint16_t>(count, nearest));
  }
  CHECK(given.read() == std::vector<std::uint32_t>{1, 2, 3});
}
