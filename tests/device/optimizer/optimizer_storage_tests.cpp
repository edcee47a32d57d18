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
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const optimizer_case& with = optimizer_case_named("adamw");
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
  const auto settings = GENERATE(values<optimizer_settings>(
      {adamw{.lr = 0.1}, adamw{.lr = 0.1, .amsgrad = true}, lamb{.lr = 0.1}, novograd{.lr = 0.1}}));
  const bool is_lamb = std::holds_alternative<lamb>(settings);
  CAPTURE(on.profile_name(), how, settings.index());
  constexpr std::uint64_t counts[] = {65, 70'003}, seed = 0x123456789abcdef;
  constexpr std::uint64_t total = counts[0] + counts[1];
  const auto patterns = finite_bits<float32>(total, 1);
  const device_buffer<std::uint32_t> gradient(on.queue(), patterns);
  const auto weights = finite_bits<bfloat16>(total, 2);
  const device_buffer<std::uint16_t> exact_model(on.queue(), weights), model(on.queue(), weights);
  const auto describe = [&](const device_buffer<std::uint16_t>& to) {
    std::vector<parameter> all;
    for (const std::uint64_t begin : {std::uint64_t{0}, counts[0]})
      all.push_back({.gradient = {gradient.data() + begin, counts[all.size()], element_type::float32},
                     .model = {to.data() + begin, counts[all.size()], element_type::bfloat16}});
    return all;
  };
  fused_optimizer exact(on, describe(exact_model), settings);
  fused_optimizer rounded(on, describe(model), settings, {.moments = element_type::bfloat16, .how = how, .seed = seed});
  const auto encode = [&](float x, std::uint32_t bits) {
    return how == rounding::stochastic ? reference::encode_at_random(x, reference::brain16, bits)
                                       : reference::encode(static_cast<double>(x), reference::brain16);
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
        on.queue().memcpy(want.data(), exact.state(tensor, k).data(), count * 4);
        on.queue().memcpy(got.data(), rounded.state(tensor, k).data(), count * 2).wait();
        for (std::uint64_t i = 0; i < count; ++i) {
          const auto [first, second] = reference::random_words(seed, t, tensor, i);
          wrong += got[i] != encode(want[i], k == 0 ? second : k == 1 ? second >> 16 : first >> 16);
          if (k == 0) wrong += got_model[place + i] != encode(want_weights[i], first);
          want[i] = std::bit_cast<float>(std::uint32_t{got[i]} << 16);
        }
        // The next step of both begins with the same numbers.
        on.queue().memcpy(const_cast<void*>(exact.state(tensor, k).data()), want.data(), count * 4).wait();
      }
      place += count;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Adagrad's sums begin with the value that is given, rounded to the type of the moments", "[optimizers]") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  // 0.3, which BF16 rounds up, and two numbers half way between two of BF16, which go to the even one.
  const auto [bits, nearest] =
      GENERATE(table<std::uint32_t, std::uint16_t>({{0x3e99999a, 0x3e9a}, {0x3e988000, 0x3e98}, {0x3e998000, 0x3e9a}}));
  const float value = std::bit_cast<float>(bits);
  const adagrad settings{.initial_accumulator_value = static_cast<double>(value)};
  const device_buffer<float> g(on.queue(), std::vector<float>(8)), w(on.queue(), std::vector<float>(8));
  const device_buffer<std::uint32_t> given(on.queue(), {1, 2, 3});  // sums that somebody brings: they stay as they are
  const std::vector<parameter> all{
      {.gradient = {g.data(), 3}, .model = {w.data(), 3}},
      {.gradient = {g.data() + 3, 2}, .model = {w.data() + 3, 2}},
      {.gradient = {g.data() + 5, 3}, .model = {w.data() + 5, 3}, .states = {given.data()}}};
  const fused_optimizer single(on, all, settings), brain(on, all, settings, {.moments = element_type::bfloat16});

  for (const std::size_t tensor : {0u, 1u}) {
    const std::uint64_t count = all[tensor].gradient.count();
    std::vector<float> sum(count);
    std::vector<std::uint16_t> rounded(count);
    on.queue().memcpy(sum.data(), single.state(tensor, 0).data(), count * sizeof(float));
    on.queue().memcpy(rounded.data(), brain.state(tensor, 0).data(), count * sizeof(std::uint16_t)).wait();
    CHECK(sum == std::vector<float>(count, value));
    CHECK(rounded == std::vector<std::uint16_t>(count, nearest));
  }
  CHECK(given.read() == std::vector<std::uint32_t>{1, 2, 3});
}
