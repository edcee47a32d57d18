// SPDX-License-Identifier: Apache-2.0
// Steps recorded into a SYCL graph, or not where there are none: the same bits as submitted call by call. What can be
// recorded neither waits nor reads back.
#include <bit>
#include <cstring>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// A gradient of some step: now and then Inf or NaN.
float special_of(int step) { return step % 7 == 3 ? infinity : step % 11 == 5 ? no_number : 0.0f; }

bool can_record(const engine& engine) {
#if defined(SYCL_EXT_ONEAPI_GRAPH)
  const sycl::device device = engine.queue().get_device();
  return device.has(sycl::aspect::ext_oneapi_graph) || device.has(sycl::aspect::ext_oneapi_limited_graph);
#else
  static_cast<void>(engine);
  return false;
#endif
}

void require_same(const step_record& record, const step_record& other) {
  REQUIRE(std::memcmp(&record, &other, sizeof record) == 0);
}

void require_same(const adding_optimizer& optimizer, const adding_optimizer& other) {
  REQUIRE(std::bit_cast<std::uint32_t>(optimizer.weight()) == std::bit_cast<std::uint32_t>(other.weight()));
}

/// Two optimizers, a list of gradients to accumulate, and a scaler; all their gradients come from `backward`.
struct pair_of_optimizers {
  explicit pair_of_optimizers(const engine& engine, const scaler_options& options = {},
                              const scaling_policy& policy = {.init_scale = 8, .growth_interval = 3})
      : first(engine, policy, options),
        gradients(engine.queue(), std::vector<float>(training::elements, 0.0f)),
        second(engine, training::elements, gradients.data()),
        sum(engine.queue(), std::vector<float>(training::elements, 0.0f)),
        of_sum(engine, training::elements, sum.data()) {
    for (const adding_optimizer* optimizer : {&first.optimizer, &second, &of_sum})
      first.scaler.prepare(optimizer->gradients());
  }

  void backward(int step, float scale) {
    first.backward(0.25f * static_cast<float>(step), scale, special_of(step));
    std::vector<float> content(training::elements, scale);
    if (step % 5 == 2) content[0] = infinity;
    first.engine.queue().memcpy(gradients.data(), content.data(), content.size() * sizeof(float)).wait();
  }

  training first;
  device_buffer<float> gradients;
  adding_optimizer second;
  device_buffer<float> sum;
  adding_optimizer of_sum;
};

/// Runs both, one of them recorded, and compares them after every step.
void require_same_bits(const engine& engine, pair_of_optimizers& direct, pair_of_optimizers& recorded,
                       const std::function<void(pair_of_optimizers&)>& calls, recording mode) {
  engine.wait();
  recorded_step step(engine, [&] { calls(recorded); }, mode);
  REQUIRE(step.is_recorded() == (mode == recording::if_possible && can_record(engine)));
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const float scale = direct.first.scaler.get_scale();
    direct.backward(i, scale);
    calls(direct);
    recorded.backward(i, scale);
    step();
    engine.wait();
    require_same(recorded.first.scaler.outcome(), direct.first.scaler.outcome());
    require_same(recorded.first.optimizer, direct.first.optimizer);
    require_same(recorded.second, direct.second);
    require_same(recorded.of_sum, direct.of_sum);
  }
}

}  // namespace

TEST_CASE("scale, step and update recorded once and replayed are the same bits as submitted one by one") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const bool unscales = GENERATE(false, true);
  const recording mode = GENERATE(recording::if_possible, recording::never);
  pair_of_optimizers direct(engine), recorded(engine);
  const device_buffer<float> loss(engine.queue(), {1.0f});
  const tensor_list loss_list(engine, array_view(loss.data(), 1));
  const device_scalar max_norm(engine, 3.0f);
  require_same_bits(
      engine, direct, recorded,
      [&](pair_of_optimizers& code) {
        loss_scaler& scaler = code.first.scaler;
        scaler.scale(loss_list);
        if (unscales) scaler.unscale(code.first.optimizer, {.max_norm = max_norm});
        scaler.step(code.first.optimizer, unscales ? step_options{} : step_options{.max_norm = max_norm});
        scaler.update();
      },
      mode);
  CHECK(direct.first.optimizer.weight() > 0);
}

TEST_CASE("joint steps, accumulation and a consensus can be recorded, too") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const recording mode = GENERATE(recording::if_possible, recording::never);
  const device_scalar max_norm(engine, 3.0f);
  SECTION("two optimizers, all or nothing") {
    pair_of_optimizers direct(engine), recorded(engine);
    require_same_bits(
        engine, direct, recorded,
        [&](pair_of_optimizers& code) {
          code.first.scaler.begin_step();
          optimizer* const both[] = {&code.first.optimizer, &code.second};
          code.first.scaler.step(both, {.max_norm = max_norm});
          code.first.scaler.update();
        },
        mode);
    CHECK(direct.second.weight() > 0);
  }
  SECTION("a window of two micro-batches") {
    pair_of_optimizers direct(engine), recorded(engine);
    require_same_bits(
        engine, direct, recorded,
        [&](pair_of_optimizers& code) {
          loss_scaler& scaler = code.first.scaler;
          clear_gradients(code.of_sum.gradients());
          for (const adding_optimizer* optimizer : {&code.first.optimizer, &code.second}) {
            scaler.begin_step();
            scaler.accumulate(optimizer->gradients(), code.of_sum.gradients());
            scaler.update();
          }
          scaler.step_accumulated(code.of_sum, {.max_norm = max_norm});
        },
        mode);
    CHECK(direct.of_sum.weight() > 0);
  }
  SECTION("several ranks: the hook's own commands are recorded with the rest") {
    scaler_options two_ranks;  // the other one has found the same
    two_ranks.consensus.sum = [](sycl::queue& queue, float* numbers, std::size_t count) {
      static const std::vector<float> none(64, 0.0f);
      queue.memcpy(numbers + count - 1, none.data(), sizeof(float));
    };
    pair_of_optimizers direct(engine, two_ranks), recorded(engine, two_ranks);
    require_same_bits(
        engine, direct, recorded,
        [&](pair_of_optimizers& code) {
          code.first.scaler.begin_step();
          code.first.scaler.step(code.first.optimizer);
          code.first.scaler.update();
        },
        mode);
    CHECK(direct.first.optimizer.weight() > 0);
  }
}

TEST_CASE("after a recording that was refused, the scaler is as it was before, in whatever stage") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  if (!can_record(engine)) SKIP("the device has no graphs");
  using call = std::function<void(pair_of_optimizers&)>;
  const call scale = [](auto& code) { code.first.scaler.begin_step(); };
  const call unscale = [](auto& code) { code.first.scaler.unscale(code.first.optimizer.gradients()); };
  const call inspect = [](auto& code) { code.first.scaler.inspect(code.second.gradients()); };
  const call step = [](auto& code) { code.first.scaler.step(code.first.optimizer); };
  const call update = [](auto& code) { code.first.scaler.update(); };
  const call accumulate = [](auto& code) {
    code.first.scaler.accumulate(code.second.gradients(), code.of_sum.gradients());
  };
  const call step_accumulated = [](auto& code) { code.first.scaler.step_accumulated(code.of_sum); };
  struct course {
    std::vector<call> before, recorded, after;
  };
  const std::vector<course> courses{
      {{}, {scale}, {scale, step, update}},
      {{}, {scale, step}, {scale, step, update}},
      {{}, {scale, unscale}, {scale, step, update}},
      {{}, {scale, inspect}, {scale, inspect, step, update}},
      {{}, {scale, step, update, scale}, {scale, step, update}},
      {{scale}, {step, update}, {step, update}},
      {{scale, unscale}, {step, update}, {step, update}},
      {{scale, inspect}, {step, update}, {step, update}},
      {{scale, step}, {update}, {update}},
      {{}, {scale, accumulate, update}, {scale, accumulate, update, step_accumulated, update}},
      {{scale, accumulate, update}, {step_accumulated, update}, {step_accumulated, update}},
  };
  const bool is_enabled = GENERATE(true, false);
  const bool is_engine_another = GENERATE(false, true);
  const syclamp::engine recording_engine =
      is_engine_another ? syclamp::engine(engine.queue(), engine.profile_name()) : engine;
  for (std::size_t i = 0; i < courses.size(); ++i) {
    CAPTURE(is_enabled, is_engine_another, i);
    const scaling_policy policy{.mode = is_enabled ? scaling_mode::dynamic : scaling_mode::disabled};
    pair_of_optimizers refused(engine, {}, policy), never_recorded(engine, {}, policy);
    const auto make = [](pair_of_optimizers& code, const std::vector<call>& calls) {
      for (const call& call : calls) call(code);
    };
    for (pair_of_optimizers* code : {&refused, &never_recorded}) {
      code->backward(1, code->first.scaler.get_scale());
      make(*code, courses[i].before);
    }
    const auto calls = [&] {
      make(refused, courses[i].recorded);
      engine.wait();
    };
    CHECK_THROWS_AS(recorded_step(recording_engine, calls), misuse_error);
    const auto can_be_saved = [](const pair_of_optimizers& code) {
      try {
        code.first.scaler.state();
      } catch (const misuse_error&) {
        return false;
      }
      return true;
    };
    CHECK(can_be_saved(refused) == can_be_saved(never_recorded));
    for (pair_of_optimizers* code : {&refused, &never_recorded}) make(*code, courses[i].after);
    require_same(refused.first.scaler.outcome(), never_recorded.first.scaler.outcome());
    require_same(refused.first.optimizer, never_recorded.first.optimizer);
    require_same(refused.of_sum, never_recorded.of_sum);
    CHECK(can_be_saved(refused));
    CHECK_THROWS_AS(refused.first.scaler.update(), misuse_error);
  }
}

TEST_CASE("settings that would be sent by every replay are refused, and stay as they were") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  if (!can_record(engine)) SKIP("the device has no graphs");
  const device_buffer<float> gradient(engine.queue(), {1.0f}), weight(engine.queue(), {0.0f});
  fused_optimizer optimizer(engine, {{.gradient = {gradient.data(), 1}, .model = {weight.data(), 1}}}, sgd{.lr = 1});
  const auto calls = [&] {
    optimizer.set_lr(0.5);
    optimizer.apply();
    engine.wait();
  };
  CHECK_THROWS_AS(recorded_step(engine, calls), misuse_error);
  optimizer.apply();
  CHECK(weight.read()[0] == -1.0f);
  optimizer.set_lr(0.5);
  optimizer.apply();
  CHECK(weight.read()[0] == -1.5f);
  const auto nothing_new = [&] { optimizer.set_lr(0.5); };  // a replay would not know that it was to stay so
  CHECK_THROWS_MATCHES(recorded_step(engine, nothing_new), misuse_error,
                       MessageMatches(ContainsSubstring("every replay")));
  const auto nested = [&] { recorded_step(engine, [&] { optimizer.apply(); }); };
  CHECK_THROWS_MATCHES(recorded_step(engine, nested), misuse_error,
                       MessageMatches(ContainsSubstring("already being recorded")));

  loss_scaler scaler(engine, {.init_scale = 8});
  CHECK_THROWS_AS(recorded_step(engine, [&] { scaler.set_policy({.init_scale = 16}); }), misuse_error);
  CHECK(scaler.policy().init_scale == 8);
  const scaler_snapshot other = scaler_snapshot::fresh({.init_scale = 16});
  CHECK_THROWS_AS(recorded_step(engine, [&] { scaler.load(other); }), misuse_error);
  CHECK(scaler.policy().init_scale == 8);
  CHECK(scaler.get_scale() == 8.0f);
}

TEST_CASE("calls that would wait while they are recorded are refused, and say what to do") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  if (!can_record(engine)) SKIP("the device has no graphs");
  training code(engine);
  const auto calls = [&] {
    code.scaler.begin_step();
    code.scaler.step(code.optimizer);  // was never prepared
    code.scaler.update();
  };
  CHECK_THROWS_AS(recorded_step(engine, calls), misuse_error);
  CHECK_THROWS_AS(recorded_step(engine, [&] { engine.wait(); }), misuse_error);
  CHECK_THROWS_AS(recorded_step(engine, nullptr), invalid_argument);

  // The queue is as it was, and the next step works.
  code.scaler.prepare(code.optimizer.gradients());
  code.backward(1.0f, code.scaler.get_scale());
  recorded_step step(engine, [&] {
    code.scaler.begin_step();
    code.scaler.step(code.optimizer);
    code.scaler.update();
  });
  step();
  engine.wait();
  CHECK(code.optimizer.weight() == 1.0f);
}

TEST_CASE("new addresses are refused while a step is recorded, and sent by the next call after") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  if (!can_record(engine)) SKIP("the device has no graphs");
  constexpr std::size_t count = 100;
  const std::vector<float> ones(count, 1.0f), zeros(count, 0.0f);
  const device_buffer<float> before(engine.queue(), ones), after(engine.queue(), ones), last(engine.queue(), ones);
  tensor_list list(engine, array_view(before.data(), count));
  loss_scaler scaler(engine);
  scaler.prepare(list);

  // Every replay would send them.
  list.set_address(0, after.data());
  CHECK_THROWS_AS(recorded_step(engine, [&] { clear_gradients(list); }), misuse_error);
  scaler.prepare(list);
  recorded_step step(engine, [&] { clear_gradients(list); });
  CHECK(after.read() == ones);
  step();
  engine.wait();
  CHECK(before.read() == ones);
  CHECK(after.read() == zeros);

  const auto move_and_clear = [&] {
    list.set_address(0, last.data());
    clear_gradients(list);
  };
  CHECK_THROWS_AS(recorded_step(engine, move_and_clear), misuse_error);
  CHECK(last.read() == ones);
  scaler.prepare(list);
  step();  // replays what was recorded, with the addresses that there are now
  engine.wait();
  CHECK(last.read() == zeros);
  CHECK(before.read() == ones);
}
