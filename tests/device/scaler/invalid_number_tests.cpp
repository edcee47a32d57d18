// SPDX-License-Identifier: Apache-2.0
// Limits and learning rates in device memory that are no usable numbers: nothing is applied, and the ledger says so.
#include <cmath>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

void check_skipped(const training& code) {
  const step_record record = code.scaler.outcome();
  CHECK(record.outcome == step_outcome::invalid_number);
  CHECK(record.status == step_status::invalid_number);
  CHECK(record.next_scale == record.scale);
  CHECK(record.skipped == 1);
  CHECK(record.skipped_lists >= 1);
  CHECK(code.optimizer.weight() == 0.0f);
}

/// The flag of one step is not that of the next.
void check_recovery(training& code) {
  CHECK(code.step(1.0f).was_applied());
  CHECK(code.optimizer.weight() == 1.0f);
}

}  // namespace

TEST_CASE("a max_norm that is negative or NaN skips the step") {
  const engine& engine = any_engine();
  const float wrong = GENERATE(-1.0f, -0x1p-149f, -infinity, no_number);
  const bool is_disabled = GENERATE(false, true);
  CAPTURE(engine.profile_name(), wrong, is_disabled);
  training code(engine, {.mode = is_disabled ? scaling_mode::disabled : scaling_mode::dynamic, .growth_interval = 1});
  const device_scalar max_norm(engine, wrong);
  code.step(1.0f, 0.0f, {.max_norm = max_norm});
  check_skipped(code);
  check_recovery(code);
}

TEST_CASE("a max_norm of zero or infinity is a limit") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine);
  CHECK(code.step(1.0f, 0.0f, {.max_norm = device_scalar(engine, infinity)}).clip == 1.0f);
  CHECK(code.optimizer.weight() == 1.0f);
  CHECK(code.step(1.0f, 0.0f, {.max_norm = device_scalar(engine, 0.0f)}).clip == 0.0f);
  CHECK(code.optimizer.weight() == 1.0f);
}

TEST_CASE("a wrong max_norm skips all of a joint step, in unscale and with a consensus, too") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar max_norm(engine, -3.0f);
  SECTION("joint step") {
    training code(engine);
    const device_buffer<float> others(engine.queue(), std::vector<float>(10, 1.0f));
    adding_optimizer other(engine, 10, others.data());
    code.scaler.begin_step();
    code.backward(1.0f, code.scaler.get_scale());
    code.scaler.step(std::vector<optimizer*>{&other, &code.optimizer}, {.max_norm = max_norm});
    code.scaler.update();
    CHECK(other.weight() == 0.0f);
    check_skipped(code);
    check_recovery(code);
  }
  SECTION("unscale") {
    training code(engine);
    code.scaler.begin_step();
    code.backward(1.0f, code.scaler.get_scale());
    code.scaler.unscale(code.optimizer, {.max_norm = max_norm});
    code.scaler.step(code.optimizer);
    code.scaler.update();
    check_skipped(code);
    check_recovery(code);
  }
  SECTION("consensus") {
    training code(engine, {}, {.consensus = {.sum = [](sycl::queue&, float*, std::size_t) {}}});
    code.step(1.0f, 0.0f, {.max_norm = max_norm});
    check_skipped(code);
    check_recovery(code);
  }
}

TEST_CASE("a wrong number of one rank skips the step of all, and their scales stay together") {
  const engine& engine = any_engine();
  const bool is_disabled = GENERATE(false, true);
  CAPTURE(engine.profile_name(), is_disabled);
  std::vector<float> numbers_of_other;
  const auto record_numbers = [&](sycl::queue& queue, float* numbers, std::size_t count) {
    numbers_of_other.resize(count);
    queue.memcpy(numbers_of_other.data(), numbers, count * sizeof(float)).wait();
  };
  const auto add_numbers = [&](sycl::queue& queue, float* numbers, std::size_t count) {
    std::vector<float> sums(count);
    queue.memcpy(sums.data(), numbers, count * sizeof(float)).wait();
    for (std::size_t i = 0; i < count; ++i) sums[i] += numbers_of_other[i];
    queue.memcpy(numbers, sums.data(), count * sizeof(float)).wait();
  };
  const scaling_policy policy{.mode = is_disabled ? scaling_mode::disabled : scaling_mode::dynamic,
                              .growth_interval = 2};
  training wrong(engine, policy, {.consensus = {.sum = record_numbers}}),
      right(engine, policy, {.consensus = {.sum = add_numbers}});
  const device_scalar limit(engine, 1.0f);
  SECTION("max_norm") {
    wrong.step(1.0f, 0.0f, {.max_norm = device_scalar(engine, no_number)});
    right.step(1.0f, 0.0f, {.max_norm = limit});
  }
  SECTION("learning rate") {
    const device_scalar rate(engine, no_number);
    wrong.optimizer.inside().set_lr_source(rate.value());
    wrong.step(1.0f, 0.0f, {.max_norm = limit});
    right.step(1.0f, 0.0f, {.max_norm = limit});
  }
  SECTION("learning rate, before unscale") {
    const device_scalar rate(engine, no_number);
    wrong.optimizer.inside().set_lr_source(rate.value());
    for (training* code : {&wrong, &right}) {
      code->scaler.begin_step();
      code->backward(1.0f, code->scaler.get_scale());
      code->scaler.unscale(code->optimizer);
      code->scaler.step(code->optimizer);
      code->scaler.update();
    }
  }
  for (const training* code : {&wrong, &right}) {
    CHECK(code->scaler.outcome().outcome == step_outcome::invalid_number);
    CHECK(code->scaler.outcome().skipped_lists == 1);
    CHECK(code->optimizer.weight() == 0.0f);
  }
  CHECK(wrong.scaler.state().scales[0].clean_steps == right.scaler.state().scales[0].clean_steps);
  CHECK(wrong.scaler.state().scales[0].scale == right.scaler.state().scales[0].scale);
}

TEST_CASE("a joint step of gradients that were clipped by a wrong limit applies none, also if scaling is disabled") {
  const engine& engine = any_engine();
  const bool is_disabled = GENERATE(false, true);
  CAPTURE(engine.profile_name(), is_disabled);
  training code(engine, {.mode = is_disabled ? scaling_mode::disabled : scaling_mode::dynamic});
  const device_buffer<float> others(engine.queue(), std::vector<float>(10, 1.0f));
  adding_optimizer other(engine, 10, others.data());
  const device_scalar limit(engine, no_number);
  code.scaler.begin_step();
  code.backward(1.0f, code.scaler.get_scale());
  code.scaler.unscale(other);
  clip_by_value(code.scaler.unscale(code.optimizer), limit);
  code.scaler.step(std::vector<optimizer*>{&other, &code.optimizer});
  code.scaler.update();
  CHECK(other.weight() == 0.0f);
  CHECK(code.scaler.outcome().skipped_lists == 2);
  check_skipped(code);
}

TEST_CASE("a scale that the caller sets does not hide a wrong number") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine);
  const device_scalar limit(engine, -1.0f);
  code.scaler.begin_step();
  code.backward(1.0f, code.scaler.get_scale());
  code.scaler.step(code.optimizer, {.max_norm = limit});
  code.scaler.update(8.0f);
  CHECK(code.scaler.outcome().status == step_status::invalid_number);
  CHECK(code.scaler.outcome().next_scale == 8.0f);
}

TEST_CASE("a learning rate that is negative, infinite or NaN skips the step of every optimizer") {
  const engine& engine = any_engine();
  const float wrong = GENERATE(-1e-3f, infinity, no_number);
  const optimizer_settings settings = GENERATE(optimizer_settings(sgd{}), optimizer_settings(adamw{}),
                                               optimizer_settings(lamb{}), optimizer_settings(novograd{}));
  CAPTURE(engine.profile_name(), wrong, settings.index());
  const device_buffer<float> gradients(engine.queue(), std::vector<float>(200, 65536.0f)),
      weights(engine.queue(), std::vector<float>(200, 1.0f)), rate(engine.queue(), {wrong});
  // Two groups, of which one has a usable rate: all groups step, or none.
  fused_optimizer optimizer(
      engine,
      {{.gradient = {gradients.data(), 100}, .model = {weights.data(), 100}, .group = 0},
       {.gradient = {gradients.data() + 100, 100}, .model = {weights.data() + 100, 100}, .group = 1}},
      std::vector{settings, settings});
  optimizer.set_lr_source(device_value(engine, rate.data()), 1);
  loss_scaler scaler(engine);
  const auto step = [&] {
    scaler.begin_step();
    scaler.step(optimizer);
    scaler.update();
    return scaler.outcome();
  };
  const step_record record = step();
  CHECK(record.outcome == step_outcome::invalid_number);
  CHECK(record.status == step_status::invalid_number);
  CHECK(weights.read() == std::vector<float>(200, 1.0f));
  CHECK(optimizer.steps(0) == 0);
  CHECK(optimizer.steps(1) == 0);
  for (std::uint32_t i = 0; i < optimizer.states(); ++i) {
    std::vector<float> moment(100);
    engine.queue().memcpy(moment.data(), optimizer.state(0, i).data(), 400).wait();
    CHECK(moment == std::vector<float>(100, 0.0f));
  }
  const float usable = 1e-3f;
  engine.queue().memcpy(rate.data(), &usable, sizeof usable).wait();
  CHECK(step().was_applied());
  CHECK(optimizer.steps(0) == 1);
  CHECK(optimizer.steps(1) == 1);
  CHECK(weights.read()[0] != 1.0f);
  CHECK(std::isfinite(weights.read()[150]));
}

TEST_CASE("a wrong learning rate is found in every way of taking a step") {
  const engine& engine = any_engine();
  const bool is_disabled = GENERATE(false, true);
  CAPTURE(engine.profile_name(), is_disabled);
  const float scale = is_disabled ? 1.0f : 65536.0f;
  const device_buffer<float> gradients(engine.queue(), std::vector<float>(100, scale)),
      weights(engine.queue(), std::vector<float>(200, 1.0f)), rate(engine.queue(), {no_number});
  fused_optimizer wrong(engine, {{.gradient = {gradients.data(), 50}, .model = {weights.data(), 50}}}, adamw{});
  fused_optimizer right(engine, {{.gradient = {gradients.data() + 50, 50}, .model = {weights.data() + 100, 50}}},
                        adamw{});
  loss_scaler scaler(engine, {.mode = is_disabled ? scaling_mode::disabled : scaling_mode::dynamic});
  const bool by_source = GENERATE(true, false);
  if (by_source) wrong.set_lr_source(device_value(engine, rate.data()));
  if (!by_source) engine.queue().memcpy(&wrong.device_hyper_parameters()->lr, &no_number, sizeof no_number).wait();
  scaler.begin_step();
  SECTION("step") { scaler.step(wrong); }
  SECTION("joint step") { scaler.step(std::vector<optimizer*>{&right, &wrong}); }
  SECTION("unscale, then step") {
    scaler.unscale(wrong);
    scaler.step(wrong);
  }
  SECTION("unscale, then a joint step") {
    scaler.unscale(right);
    scaler.unscale(wrong);
    scaler.step(std::vector<optimizer*>{&right, &wrong});
  }
  scaler.update();
  CHECK(scaler.outcome().outcome == step_outcome::invalid_number);
  CHECK(weights.read() == std::vector<float>(200, 1.0f));
  CHECK(wrong.steps() + right.steps() == 0);
}

TEST_CASE("clipping by hand with a limit that is negative or NaN skips the step") {
  const engine& engine = any_engine();
  const float wrong = GENERATE(-1.0f, no_number);
  CAPTURE(engine.profile_name(), wrong);
  training code(engine);
  const device_scalar limit(engine, wrong);
  const auto unscaled = [&] {
    code.scaler.begin_step();
    code.backward(1.0f, code.scaler.get_scale());
    return code.scaler.unscale(code.optimizer);
  };
  SECTION("by value") {
    clip_by_value(unscaled(), limit);
    CHECK(code.gradients.read() == std::vector<float>(training::elements, 1.0f));  // nothing is written
  }
  SECTION("by norm") {
    const auto gradients = unscaled();
    const inspector inspector(gradients.list());
    inspector.run();
    const device_buffer<clip_result> result(engine.queue(), std::vector<clip_result>(1));
    clip_coefficient(engine, inspector.device_result(), limit, result.data());
    CHECK(std::isnan(result.read()[0].coefficient));
    clip(gradients, result.data());
    engine.wait();  // kernels read the buffers of this section
  }
  SECTION("by the norms of groups") {
    const auto gradients = unscaled();
    const inspector inspector(gradients.list(), inspection_level::tensors);
    inspector.run();
    const device_buffer<clip_result> result(engine.queue(), std::vector<clip_result>(1));
    clip_coefficients(engine, inspector.device_groups(), 1, limit, result.data());
    clip_by_group(gradients, result.data());
    engine.wait();
  }
  code.scaler.step(code.optimizer);
  code.scaler.update();
  check_skipped(code);
  check_recovery(code);
}

TEST_CASE("several scales: each of them tells of a wrong number, and none tells twice") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> gradients(engine.queue(), std::vector<float>(4, 65536.0f));
  const tensor_list list(engine, {{gradients.data(), 2, "", 0}, {gradients.data() + 2, 2, "", 1}});
  loss_scaler scaler(engine, {}, {.scales = 2});
  const device_scalar wrong(engine, -1.0f), right(engine, 1.0f);
  for (const bool is_wrong : {true, false, true, false}) {
    scaler.begin_step();
    scaler.inspect(list, {.max_norm = is_wrong ? wrong : right});
    scaler.update();
    for (const std::uint32_t scale : {0u, 1u})
      CHECK((scaler.outcome(scale).outcome == step_outcome::invalid_number) == is_wrong);
  }
}
