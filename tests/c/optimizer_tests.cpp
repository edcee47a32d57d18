// SPDX-License-Identifier: Apache-2.0
// Settings, learning rates and schedules of optimizers. Numbers are powers of two, so results are exact.
#include <cstring>

#include "tests/c/support.hpp"

using namespace c_tests;

TEST_CASE("every optimizer has settings that round-trip, and steps") {
  for (syclamp_optimizer_kind kind = SYCLAMP_SGD; kind < SYCLAMP_OPTIMIZER_KINDS; ++kind) {
    CAPTURE(kind);
    const device_floats gradient(std::vector<float>(4, 1.0f)), model(std::vector<float>(4, 1.0f));
    auto chosen = settings(kind, 0.25);
    CHECK(chosen.kind == kind);
    const auto optimizer = optimizer_of(gradient, model, chosen);
    auto read = sized<syclamp_optimizer_settings>();
    ok(syclamp_optimizer_get_settings(optimizer, 0, &read));
    CHECK(std::memcmp(&read, &chosen, sizeof read) == 0);
    ok(syclamp_optimizer_apply(optimizer));
    CHECK(model.read()[2] < 1.0f);
    chosen.weight_decay = 0.5;
    chosen.maximize = 1;
    ok(syclamp_optimizer_set_settings(optimizer, 0, &chosen));
    ok(syclamp_optimizer_get_settings(optimizer, 0, &read));
    CHECK(std::memcmp(&read, &chosen, sizeof read) == 0);
  }
}

TEST_CASE("learning rates: set, per group, from the device, by a schedule") {
  const device_floats gradient({1, 1}), model({0, 0});
  auto chosen = settings(SYCLAMP_SGD, 1.0);
  syclamp_parameter parameters[2] = {sized<syclamp_parameter>(), sized<syclamp_parameter>()};
  for (std::uint32_t i = 0; i < 2; ++i) {
    parameters[i].count = 1;
    parameters[i].gradient = gradient.data() + i;
    parameters[i].model = model.data() + i;
    parameters[i].gradient_type = parameters[i].model_type = SYCLAMP_FLOAT32;
    parameters[i].group = i;
  }
  const syclamp_optimizer_settings both[] = {chosen, chosen};
  owned<syclamp_optimizer> optimizer;
  ok(syclamp_optimizer_create(engine(), parameters, 2, both, 2, nullptr, optimizer.address()));
  auto info = sized<syclamp_optimizer_info>();
  ok(syclamp_optimizer_describe(optimizer, &info));
  CHECK(info.parameters == 2);
  CHECK(info.groups == 2);
  CHECK(info.states == 0);
  ok(syclamp_optimizer_set_lr(optimizer, 1, 4.0));
  double lr = 0;
  ok(syclamp_optimizer_get_lr(optimizer, 1, &lr));
  CHECK(lr == 4.0);
  ok(syclamp_optimizer_apply(optimizer));
  CHECK(model.read() == std::vector<float>{-1, -4});
  {
    const device_floats rate({8.0f});
    ok(syclamp_optimizer_set_lr_source(optimizer, 0, rate.data()));
  }  // the optimizer keeps the memory
  ok(syclamp_optimizer_apply(optimizer));
  CHECK(model.read() == std::vector<float>{-9, -8});
  ok(syclamp_optimizer_set_lr_source(optimizer, SYCLAMP_ALL_GROUPS, nullptr));
  ok(syclamp_optimizer_set_lr(optimizer, SYCLAMP_ALL_GROUPS, 1.0));
  auto schedule = sized<syclamp_lr_schedule>();
  schedule.kind = SYCLAMP_LR_DECAY;
  schedule.gamma = 0.5f;
  schedule.steps = 2;
  ok(syclamp_optimizer_set_schedule(optimizer, &schedule));
  ok(syclamp_optimizer_apply(optimizer));  // two steps were applied before: one decay
  CHECK(model.read() == std::vector<float>{-9.5f, -8.5f});
  ok(syclamp_optimizer_zero_gradients(optimizer));
  CHECK(gradient.read() == std::vector<float>{0, 0});
}
