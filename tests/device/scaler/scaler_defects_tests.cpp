// SPDX-License-Identifier: Apache-2.0
// Defects of other scalers. docs/frameworks.md explains each by its number, D1 to D25. A test fails if the scaler works
// as they do. Those of kernels are in framework_defects_tests.cpp.
#include <cstring>
#include <filesystem>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

void clean_step(training& code) { REQUIRE(code.step(1.0f).was_applied()); }

}  // namespace

TEST_CASE("D1: on the step that makes the scale grow, gradients are divided by the scale they were multiplied by") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 8, .growth_interval = 1});
  const step_record record = code.step(1.0f);
  CHECK(record.next_scale == 16.0f);
  CHECK(code.optimizer.weight() == 1.0f);  // 0.5 if the scale moves first
}

TEST_CASE("D2: a flag that several ranks have added up to 2, 0.5 or a NaN still means skip") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const float sum = GENERATE(2.0f, 3.0f, 0.5f, no_number, -1.0f);
  training code(engine, {}, {.consensus = {.sum = [&](sycl::queue& queue, float* numbers, std::size_t) {
                               queue.memcpy(numbers, &sum, sizeof sum).wait();
                             }}});
  const step_record record = code.step(1.0f);
  CHECK(record.outcome == step_outcome::skipped_inf);
  CHECK(record.applied == 0);
  CHECK(code.optimizer.weight() == 0.0f);
}

TEST_CASE("D3: ranks agree in the path that does not unscale first, too") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  int calls = 0;
  training code(engine, {}, {.consensus = {.sum = [&](sycl::queue&, float*, std::size_t) { ++calls; }}});
  clean_step(code);
  CHECK(calls == 1);
}

TEST_CASE("D7, D8: an overflow of the first optimizer is not forgotten when the second is clean") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 4});
  const device_buffer<std::uint16_t> halves(engine.queue(), {0x3c00});
  const tensor_list others(engine, array_view(halves.data(), 1, element_type::float16));
  code.scaler.begin_step();
  code.backward(1.0f, 4.0f, infinity);
  code.scaler.step(code.optimizer);
  code.scaler.inspect(others);  // another type, another list, clean
  code.scaler.update();
  CHECK(code.scaler.get_scale() == 2.0f);
}

TEST_CASE("D9, D24: no scale grows to Inf or shrinks to 0, and both ends let it come back") {
  const engine& engine = any_engine();
  const std::string name = GENERATE(from_range([] {
    std::vector<std::string> names;
    for (const preset_info& preset : scaling_presets()) names.push_back(preset.name);
    return names;
  }()));
  CAPTURE(engine.profile_name(), name);
  scaling_policy policy = scaling_preset(name);
  policy.growth_interval = 1;
  policy.hysteresis = 1;
  policy.tolerance = 0;
  const device_buffer<float> clean(engine.queue(), {0.0f}), bad(engine.queue(), {infinity});
  tensor_list gradients(engine, array_view(clean.data(), 1));
  loss_scaler scaler(engine, policy);
  const auto run = [&](const device_buffer<float>& buffer, int steps) {
    gradients.set_address(0, buffer.data());
    for (int i = 0; i < steps; ++i) {
      scaler.begin_step();
      scaler.inspect(gradients);
      scaler.update();
    }
    return scaler.get_scale();
  };
  const float high = run(clean, 300);
  CHECK(high <= std::numeric_limits<float>::max());
  if (policy.growth_mode != growth_kind::log_max) CHECK(run(bad, 3) < high);
  const float low = run(bad, 600);
  CHECK(low >= 0x1p-126f);
  if (policy.growth_mode != growth_kind::log_max) CHECK(run(clean, 4) > low);
}

TEST_CASE("D11, D12: a saved scaler resumes as if it had never stopped, whatever its counters were at") {
  const engine& engine = all_engines().front();
  const syclamp::engine& elsewhere = all_engines().back();
  const std::string name = GENERATE("syclamp", "pytorch", "deepspeed", "megatron", "tf1-contrib", "fairseq", "mxnet",
                                    "chainer", "openseq2seq-logmax");
  scaling_policy policy = scaling_preset(name);
  policy.growth_interval = 4;
  policy.retries = 1;
  policy.give_up_after = 3;
  const device_buffer<float> clean(engine.queue(), {3.0f}), bad(engine.queue(), {no_number});
  const device_buffer<float> clean_there(elsewhere.queue(), {3.0f}), bad_there(elsewhere.queue(), {no_number});
  const auto bad_at = [](int step) { return step % 5 == 2 || step % 9 >= 7; };
  for (int broken_at = 1; broken_at <= 12; ++broken_at) {
    CAPTURE(name, broken_at);
    loss_scaler unbroken(engine, policy);
    tensor_list gradients(engine, array_view(clean.data(), 1)),
        gradients_there(elsewhere, array_view(clean_there.data(), 1));
    const auto step = [](loss_scaler& scaler, tensor_list& list, float* data) {
      list.set_address(0, data);
      scaler.begin_step();
      scaler.inspect(list);
      scaler.update();
    };
    for (int i = 0; i < broken_at; ++i) step(unbroken, gradients, bad_at(i) ? bad.data() : clean.data());
    loss_scaler other(elsewhere);
    other.load(snapshot_from_json(to_json(unbroken.state())));
    for (int i = broken_at; i < broken_at + 20; ++i) {
      step(unbroken, gradients, bad_at(i) ? bad.data() : clean.data());
      step(other, gradients_there, bad_at(i) ? bad_there.data() : clean_there.data());
    }
    const scaler_snapshot a = unbroken.state(), b = other.state();
    CHECK(std::memcmp(a.scales.data(), b.scales.data(), sizeof(scale_state)) == 0);
    REQUIRE(a.ledger.size() == b.ledger.size());
    for (std::size_t i = 0; i < a.ledger.size(); ++i)
      REQUIRE(std::memcmp(&a.ledger[i].record, &b.ledger[i].record, sizeof(step_record)) == 0);
    CHECK(to_json(a) == to_json(b));
  }
}

TEST_CASE("D16: the number of applied steps can be read, on the device and without waiting") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine);
  clean_step(code);
  code.step(1.0f, infinity);
  clean_step(code);
  CHECK(code.scaler.ledger().back().record.applied == 2);
  scale_state state;
  engine.queue().memcpy(&state, code.scaler.device_state(), sizeof state).wait();
  CHECK(state.applied == 2);
  CHECK(state.attempted == 3);
  CHECK(state.skipped == 1);
}

TEST_CASE("D17: the scale moves by what all ranks have found, not by what this one has") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  // Two ranks, one of which overflows: both end with the same scale.
  const float sums[6] = {1, 0, 0, 0, 2, 1};
  const auto hook = [&](sycl::queue& queue, float* numbers, std::size_t) {
    queue.memcpy(numbers, sums, sizeof sums).wait();
  };
  training bad(engine, {.init_scale = 8}, {.consensus = {.sum = hook}}),
      good(engine, {.init_scale = 8}, {.consensus = {.sum = hook}});
  CHECK(bad.step(1.0f, infinity).next_scale == 4.0f);
  CHECK(good.step(1.0f).next_scale == 4.0f);
  CHECK(good.optimizer.weight() == 0.0f);
}

TEST_CASE("D18: a second step without a new backward pass is refused") {
  const engine& engine = all_engines().front();
  training code(engine);
  clean_step(code);
  CHECK_THROWS_AS(code.scaler.step(code.optimizer), misuse_error);
  CHECK_THROWS_AS(code.scaler.update(), misuse_error);
  CHECK(code.optimizer.weight() == 1.0f);
}

TEST_CASE("D19: an interval that is set below the counter still lets the scale grow") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 8, .growth_interval = 100});
  for (int i = 0; i < 5; ++i) clean_step(code);
  scaling_policy policy = code.scaler.policy();
  policy.growth_interval = 2;
  code.scaler.set_policy(policy);
  CHECK(code.step(1.0f).next_scale == 16.0f);
}

TEST_CASE("D20: a new scale is used by the very next loss") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 8});
  code.step(1.0f, infinity);
  const device_buffer<float> loss(engine.queue(), {1.0f});
  code.scaler.scale(tensor_list(engine, array_view(loss.data(), 1)));
  CHECK(loss.read()[0] == 4.0f);
}

TEST_CASE("D21: a step leaves gradients as they were, scaled, whether it is applied or skipped") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 8});
  for (const float special : {0.0f, infinity}) {
    code.step(1.0f, special);
    const auto after = code.gradients.read();
    CHECK(after[0] == 8.0f);
    if (special != 0) CHECK(after[training::special_place] == infinity);
  }
}

TEST_CASE("D25: with scaling off, clipping and stepping take the same path") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.mode = scaling_mode::disabled});
  const device_scalar max_norm(engine, 5.0f);
  const step_record record = code.step(1.0f, 0.0f, {.max_norm = max_norm});
  CHECK(record.was_applied());
  CHECK(record.norm == 10.0f);
  CHECK(record.clip == 5.0f / (10.0f + 1e-6f));
  CHECK(code.step(1.0f, no_number).was_applied());  // off is off
}
