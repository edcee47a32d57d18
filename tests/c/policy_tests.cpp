// SPDX-License-Identifier: Apache-2.0
// Policies: presets, defaults, and what the scaler does with them.
#include <cmath>
#include <cstring>

#include "tests/c/support.hpp"
#include "tests/c/training.hpp"

using namespace c_tests;

TEST_CASE("a preset on the device moves as its simulation") {
  for (const char* name : {"syclamp", "pytorch", "megatron", "keras3"}) {
    CAPTURE(name);
    auto policy = sized<syclamp_policy>();
    ok(syclamp_policy_preset(name, &policy));
    policy.growth_interval = 3;
    ok(syclamp_policy_validate(&policy));
    const std::string trace = "..i...ii....n...";
    std::vector<syclamp_simulated_step> simulated(trace.size(), sized<syclamp_simulated_step>());
    std::size_t count = 0;
    ok(syclamp_simulate(&policy, trace.c_str(), simulated.data(), simulated.size(), &count));
    REQUIRE(count == trace.size());
    training run(&policy);
    for (std::size_t i = 0; i < count; ++i) {
      const float value = trace[i] == 'i' ? inf : trace[i] == 'n' ? std::nanf("") : 0.0f;
      run.step({value, 0, 0, 0});
      auto record = sized<syclamp_step_record>();
      ok(syclamp_scaler_outcome(run.scaler, 0, &record));
      CAPTURE(i);
      CHECK(record.scale == simulated[i].scale_before);
      CHECK(record.next_scale == simulated[i].scale_after);
      CHECK(record.outcome == simulated[i].outcome);
    }
    auto read = sized<syclamp_policy>();
    ok(syclamp_scaler_get_policy(run.scaler, &read));
    CHECK(std::memcmp(&read, &policy, sizeof read) == 0);
    read.growth_interval = 7;
    ok(syclamp_scaler_set_policy(run.scaler, &read));
  }
  std::size_t presets = 0;
  ok(syclamp_preset_count(&presets));
  const char *preset = nullptr, *framework = nullptr;
  for (std::size_t i = 0; i < presets; ++i) ok(syclamp_preset_describe(i, &preset, &framework));
  CHECK(syclamp_preset_describe(presets, &preset, &framework) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("a policy that stops resumes by a call") {
  auto policy = sized<syclamp_policy>();
  ok(syclamp_policy_preset(nullptr, &policy));
  policy.give_up_after = 1;
  policy.on_give_up = SYCLAMP_GIVE_UP_STOP;
  training run(&policy);
  run.step({inf, 0, 0, 0});
  run.step({1, 1, 1, 1});
  CHECK(run.model.read() == std::vector<float>(4, 1.0f));
  ok(syclamp_scaler_resume(run.scaler));
  run.step({1, 1, 1, 1});
  CHECK(run.model.read() == std::vector<float>(4, 0.5f));
}

TEST_CASE("defaults have the documented numbers, each in its own field") {
  auto policy = sized<syclamp_policy>();
  ok(syclamp_policy_preset(nullptr, &policy));
  CHECK(policy.mode == SYCLAMP_DYNAMIC);
  CHECK(policy.growth_mode == SYCLAMP_GROW_AT_INTERVAL);
  CHECK(policy.init_scale == 65536.0);
  CHECK(policy.growth_factor == 2.0);
  CHECK(policy.backoff_factor == 0.5);
  CHECK(policy.min == 0x1p-14);
  CHECK(policy.max == 0x1p24);
  CHECK(policy.growth_interval == 2000);
  CHECK(policy.power_of_two == 1);
  CHECK(policy.hysteresis == 1);
  CHECK(policy.tolerance == 0.0);
  CHECK(policy.amax_limit == 65504.0);
  CHECK(policy.margin == 1);
  CHECK(policy.max_jump == 4);
  CHECK(policy.nan_patience == 16);
  CHECK(policy.give_up_after == 0);
  CHECK(policy.spike_threshold == 0.0);
  CHECK(policy.spike_window == 128);
  CHECK(policy.retries == 0);
  CHECK(policy.clear_on_skip == 0);
  ok(syclamp_policy_preset("pytorch", &policy));
  CHECK(policy.replay_growth_test == SYCLAMP_INTERVAL_EQUAL);
  ok(syclamp_policy_preset("megatron", &policy));
  CHECK(policy.hysteresis == 2);
  CHECK(policy.hysteresis_mode == SYCLAMP_HYSTERESIS_PER_GROWTH_WINDOW);
  ok(syclamp_policy_preset("mxnet", &policy));
  CHECK(policy.replay_one_step_late == 1);

  auto chosen = settings(SYCLAMP_LION, 0.5);
  CHECK(chosen.beta1 == 0.9);
  CHECK(chosen.beta2 == 0.99);
  CHECK(chosen.eps == 0.0);
  chosen = settings(SYCLAMP_RMSPROP, 0.5);
  CHECK(chosen.alpha == 0.99);
  CHECK(chosen.eps == 1e-8);
  chosen = settings(SYCLAMP_ADADELTA, 0.5);
  CHECK(chosen.rho == 0.9);
  CHECK(chosen.eps == 1e-6);
  chosen = settings(SYCLAMP_ADAMW, 0.5);
  CHECK(chosen.beta2 == 0.999);
  CHECK(chosen.weight_decay == 1e-2);
  CHECK(settings(SYCLAMP_ADAGRAD, 0.5).eps == 1e-10);
}
