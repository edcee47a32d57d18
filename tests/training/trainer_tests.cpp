// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "training/result_json.hpp"
#include "training/trainer.hpp"

using namespace syclamp;
using namespace syclamp::training;

namespace {

constexpr std::uint64_t batch_size = 64;

run_settings dynamic_fp16(double init = 65536) {
  run_settings settings{.name = "fp16-dynamic", .precision = "fp16", .scaling = "dynamic"};
  settings.formats = policy_named("mixed_float16");
  settings.policy.init = init;
  settings.policy.max = 0x1p40;
  settings.policy.interval = 5;
  return settings;
}

std::vector<double> losses_of(const run_result& run) {
  std::vector<double> losses;
  for (const loss_point& at : run.losses) losses.push_back(at.loss);
  return losses;
}

}  // namespace

TEST_CASE("training learns, tells what it did, and is the same twice, in one go or in two") {
  const engine on = timed_engine();
  const task field = field_task(batch_size);
  trainer one(on, field, dynamic_fp16()), two(on, field, dynamic_fp16());
  one.train(3, {});
  two.train(1, {});
  two.train(3, {});
  const run_result& run = one.result();
  CHECK(run.steps == 12);
  REQUIRE(run.losses.size() == 12);
  REQUIRE(run.scales.size() == 12);
  CHECK(run.held_out.size() == 3);
  CHECK(run.held_out.back().loss < run.held_out.front().loss);
  CHECK(std::isnan(run.accuracy()));
  CHECK(losses_of(run) == losses_of(two.result()));
  CHECK(run.held_out.back().loss == two.result().held_out.back().loss);

  // The scale grows after 5 clean steps, and after 5 more.
  CHECK(run.skipped.empty());
  CHECK(run.scales[4].scale == 65536);
  CHECK(run.scales[5].scale == 131072);
  CHECK(run.final_scale == 262144);

  // Every gradient that was looked at is in exactly one place.
  std::uint64_t elements = run.exponents.zeros + run.exponents.infs + run.exponents.nans, expected = 0;
  for (const std::uint64_t count : run.exponents.counts) elements += count;
  for (const tensor_result& tensor : run.tensors) expected += tensor.elements;
  CHECK(elements == expected);
  CHECK(expected == one.weights() + batch_size * 4096);
  CHECK(run.tensors.back().name == "output");
  CHECK(run.zero_share() < 0.5);
}

TEST_CASE("each epoch has all batches, in an order of its own") {
  const engine on = timed_engine();
  task field = field_task(batch_size);
  field.optimizer = {.lr = 0, .weight_decay = 0};  // so a batch has the same loss whenever it comes
  trainer one(on, field, dynamic_fp16());
  one.train(3, {});
  std::vector<double> epochs[3];
  for (std::size_t i = 0; i < 12; ++i) epochs[i / 4].push_back(losses_of(one.result())[i]);
  CHECK((epochs[0] != epochs[1] || epochs[1] != epochs[2]));
  for (auto& epoch : epochs) std::ranges::sort(epoch);
  CHECK(epochs[0] == epochs[1]);
  CHECK(epochs[1] == epochs[2]);
  CHECK(std::ranges::adjacent_find(epochs[0]) == epochs[0].end());
}

TEST_CASE("samples of digits are shuffled with their labels") {
  const engine on;
  task digits{.name = "digits", .model = {.widths = {2, 4, 10}}, .batch = 5};
  for (std::uint32_t i = 0; i < 10; ++i) {
    digits.training.inputs.insert(digits.training.inputs.end(), {static_cast<float>(i), -static_cast<float>(i)});
    digits.training.labels.push_back(i);
  }
  digits.training.count = 10;
  digits.held_out = digits.training;
  batches all(on, digits, element_type::float32, 1);
  std::vector<std::uint32_t> orders[2];
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    all.begin_epoch(epoch);
    for (std::uint64_t i = 0; i < 2; ++i) {
      float inputs[10];
      std::uint32_t labels[5];
      on.queue().memcpy(inputs, all[i].inputs.data(), sizeof inputs).wait();
      on.queue().memcpy(labels, all[i].labels, sizeof labels).wait();
      for (int k = 0; k < 5; ++k) {
        CHECK(inputs[2 * k] == static_cast<float>(labels[k]));
        CHECK(inputs[2 * k + 1] == -static_cast<float>(labels[k]));
        orders[epoch].push_back(labels[k]);
      }
    }
  }
  CHECK(orders[0] != orders[1]);
  std::ranges::sort(orders[0]);
  CHECK(orders[0] == digits.held_out.labels);
}

TEST_CASE("a scale that is too large costs steps, not the run") {
  const engine on = timed_engine();
  const task field = field_task(batch_size);
  trainer one(on, field, dynamic_fp16(0x1p34));
  one.train(10, {});
  const run_result& run = one.result();
  REQUIRE(!run.skipped.empty());
  CHECK(run.skipped.front() == 1);
  CHECK(run.final_scale < 0x1p34);
  CHECK(std::isfinite(run.loss()));
  CHECK(run.losses.back().loss < run.losses.front().loss);
}

TEST_CASE("FP16 without scaling loses gradients that FP32 has") {
  const engine on = timed_engine();
  const task field = field_task(batch_size);
  run_settings plain{.name = "fp32", .precision = "fp32", .scaling = "none"};
  plain.policy.mode = scaling_mode::disabled;
  run_settings narrow = plain;
  narrow.formats = policy_named("mixed_float16");
  trainer exact(on, field, plain), lossy(on, field, narrow);
  exact.train(1, {});
  lossy.train(1, {});
  CHECK(exact.result().zero_share() == 0.0);
  CHECK(lossy.result().zero_share() > 0.0);
  CHECK(lossy.result().zero_share_weights() != lossy.result().zero_share());
  CHECK(lossy.result().times.scaling_share() == 0.0);
  CHECK(lossy.result().final_scale == 1.0);
  CHECK(lossy.result().scales.size() == 4);
}

TEST_CASE("a run that shall stop ends with what there is, and goes on from there") {
  const engine on = timed_engine();
  const task field = field_task(batch_size);
  trainer whole(on, field, dynamic_fp16()), stopped(on, field, dynamic_fp16());
  int left = 7;
  run_observer impatient;
  impatient.shall_stop = [&] { return --left < 0; };
  stopped.train(3, impatient);
  CHECK(stopped.result().steps > 0);
  CHECK(stopped.result().steps < 7);
  CHECK(stopped.result().losses.size() == stopped.result().steps);
  CHECK(stopped.result().held_out.back().step == stopped.result().steps);
  stopped.train(3, {});
  whole.train(3, {});
  CHECK(losses_of(stopped.result()) == losses_of(whole.result()));
}
