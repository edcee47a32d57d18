// SPDX-License-Identifier: Apache-2.0
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
