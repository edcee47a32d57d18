// SPDX-License-Identifier: Apache-2.0
// Numbers by value do what numbers in device memory do, and wrong ones are refused.
#include <deque>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("numbers by value give the same bits as numbers in device memory") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  constexpr std::size_t count = 70'001;
  std::vector<float> content(count);
  for (std::size_t i = 0; i < count; ++i) content[i] = static_cast<float>(i % 977) * 0x1.3p-5f - 9.0f;
  const auto results = [&](const auto& number) {
    std::vector<std::vector<float>> all;
    const auto run = [&](const auto& operation) {
      const device_buffer<float> in(engine.queue(), content), out(engine.queue(), content);
      operation(tensor_list(engine, array_view(in.data(), count)), tensor_list(engine, array_view(out.data(), count)));
      engine.wait();
      all.push_back(out.read());
    };
    const scalar scale_number = number(1.7f), factor = number(-0.3f), limit = number(2.5f);
    run([&](const auto& in, const auto& out) { unscale(in, out, scale_number); });
    run([&](const auto& in, const auto& out) { scale(in, out, factor); });
    run([&](const auto& in, const auto& out) { accumulate(in, out, scale_number); });
    run([&](const auto& in, const auto& out) { inspector(in).unscale(out, scale_number); });
    run([&](const auto&, const auto& out) { clip_by_value(unscaled_gradients::never_scaled(out), limit); });
    for (const inspection_level level : {inspection_level::list, inspection_level::tensors}) {
      const device_buffer<float> in(engine.queue(), content);
      const inspector inspector(tensor_list(engine, array_view(in.data(), count)), level);
      inspector.run(scale_number);
      const device_buffer<clip_result> clipped(engine.queue(), std::vector<clip_result>(1));
      clip_coefficient(engine, inspector.device_result(), limit, clipped.data());
      engine.wait();
      all.push_back({inspector.result().unscaled_amax, inspector.result().scale, clipped.read()[0].norm,
                     clipped.read()[0].coefficient});
    }
    return all;
  };

  std::deque<device_scalar> kept;  // as long as kernels may read them
  const auto in_memory = results([&](float value) {
    kept.emplace_back(engine, value);
    return scalar(kept.back());
  });
  CHECK(results([](float value) { return scalar(value); }) == in_memory);
}

TEST_CASE("a step clips by a value as by a number in device memory, several scales and ranks included") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar limit(engine, 3.0f);
  training by_value(engine), by_address(engine);
  const step_record first = by_value.step(1.0f, 0.0f, {.max_norm = 3.0f});
  const step_record second = by_address.step(1.0f, 0.0f, {.max_norm = limit});
  CHECK(first.norm == 10.0f);
  CHECK(first.clip == 3.0f / (10.0f + 1e-6f));
  CHECK(second.clip == first.clip);
  CHECK(by_value.optimizer.weight() == by_address.optimizer.weight());
}

TEST_CASE("numbers that cannot be used are refused by name and value") {
  const engine& engine = all_engines().front();
  training code(engine);
  code.scaler.begin_step();
  CHECK_THROWS_MATCHES(code.scaler.step(code.optimizer, {.max_norm = -1.0f}), invalid_argument,
                       MessageMatches(ContainsSubstring("step: max_norm is -1; it must be 0 or more")));
  CHECK_THROWS_AS(code.scaler.step(code.optimizer, {.max_norm = no_number}), invalid_argument);
  code.scaler.step(code.optimizer, {.max_norm = infinity});  // the refused calls have not begun anything
  code.scaler.update();

  alignas(float) const char bytes[2 * sizeof(float)] = {};
  CHECK_THROWS_MATCHES(device_value(engine, reinterpret_cast<const float*>(bytes + 1)), invalid_argument,
                       MessageMatches(ContainsSubstring("not aligned to a float")));
  CHECK_THROWS_MATCHES(device_value(engine, nullptr), invalid_argument,
                       MessageMatches(ContainsSubstring("its address is null")));
}
