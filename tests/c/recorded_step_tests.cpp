// SPDX-License-Identifier: Apache-2.0
// Recorded steps and spike guards: the bits of the calls themselves, and no crash whatever the function does.
#include <cmath>
#include <memory>

#include <sycl/sycl.hpp>

#include "tests/c/support.hpp"
#include "tests/c/training.hpp"

using namespace c_tests;

namespace {

std::int32_t make_step(void* user) {
  const auto& run = *static_cast<training*>(user);
  auto options = sized<syclamp_step_options>();
  options.clip = 1;
  options.max_norm = 2;
  if (syclamp_scaler_begin_step(run.scaler, nullptr) != SYCLAMP_OK) return 1;
  if (syclamp_scaler_step(run.scaler, run.optimizer, &options) != SYCLAMP_OK) return 2;
  return syclamp_scaler_update(run.scaler) == SYCLAMP_OK ? 0 : 3;
}

void prepare(const training& run) {
  owned<syclamp_tensor_list> gradients;
  ok(syclamp_optimizer_gradients(run.optimizer, gradients.address()));
  ok(syclamp_scaler_prepare(run.scaler, gradients));
}

owned<syclamp_recorded_step> record(syclamp_step_calls calls, void* user,
                                    syclamp_recording mode = SYCLAMP_RECORD_IF_POSSIBLE) {
  owned<syclamp_recorded_step> made;
  ok(syclamp_recorded_step_create(engine(), calls, user, mode, made.address()));
  return made;
}

bool has_graphs() {
  void* queue = nullptr;
  ok(syclamp_engine_get_queue(engine(), &queue));
  const sycl::device device = static_cast<sycl::queue*>(queue)->get_device();
  return device.has(sycl::aspect::ext_oneapi_graph) || device.has(sycl::aspect::ext_oneapi_limited_graph);
}

std::string state_of(const training& run) {
  char* json = nullptr;
  ok(syclamp_scaler_get_state(run.scaler, &json));
  return take(json);
}

/// The status of a recording whose function ignores errors and returns 0.
template <typename Body>
syclamp_status record_ignoring(Body body) {
  syclamp_recorded_step made = nullptr;
  const auto calls = [](void* user) -> std::int32_t {
    (*static_cast<Body*>(user))();
    return 0;
  };
  const syclamp_status status = syclamp_recorded_step_create(engine(), calls, &body, SYCLAMP_RECORD_IF_POSSIBLE, &made);
  CHECK((status == SYCLAMP_OK) == (made != nullptr));
  CHECK(syclamp_recorded_step_destroy(made) == SYCLAMP_OK);
  return status;
}

}  // namespace

TEST_CASE("a recorded step gives the bits of its calls") {
  for (const syclamp_recording mode : {SYCLAMP_RECORD_IF_POSSIBLE, SYCLAMP_RECORD_NEVER}) {
    CAPTURE(mode);
    const auto adamw = settings(SYCLAMP_ADAMW, 0.01);
    training direct(nullptr, nullptr, adamw), recorded(nullptr, nullptr, adamw);
    prepare(recorded);
    const auto step = record(make_step, &recorded, mode);
    std::int32_t is_recorded = -1;
    ok(syclamp_recorded_step_is_recorded(step, &is_recorded));
    CHECK(is_recorded == (mode == SYCLAMP_RECORD_IF_POSSIBLE && has_graphs() ? 1 : 0));
    for (int i = 1; i <= 12; ++i) {
      const float first = i % 5 == 3 ? inf : i % 7 == 4 ? std::nanf("") : 0.3f * static_cast<float>(i);
      for (training* run : {&direct, &recorded}) run->backward({first, 1, -0.7f, 3});
      CHECK(make_step(&direct) == 0);
      ok(syclamp_recorded_step_run(step));
      CAPTURE(i);
      CHECK(recorded.model.read() == direct.model.read());
    }
    CHECK(state_of(recorded) == state_of(direct));  // with every record of the ledger
  }
}

TEST_CASE("a recorded step keeps what its calls use") {
  const device_floats model(std::vector<float>(4, 1.0f));
  owned<syclamp_recorded_step> step;
  struct training_handles {
    syclamp_scaler scaler;
    syclamp_optimizer optimizer;
    const float* max_norm;
  } handles{};
  const auto calls = [](void* user) -> std::int32_t {
    const auto& run = *static_cast<training_handles*>(user);
    auto options = sized<syclamp_step_options>();
    options.clip = 1;
    options.device_max_norm = run.max_norm;
    return syclamp_scaler_begin_step(run.scaler, nullptr) | syclamp_scaler_step(run.scaler, run.optimizer, &options) |
           syclamp_scaler_update(run.scaler);
  };
  {
    const device_floats gradient(std::vector<float>(4, 65536.0f)), max_norm({8.0f});
    const auto optimizer = optimizer_of(gradient, model, settings(SYCLAMP_SGD, 0.5));
    const auto scaler = scaler_of();
    owned<syclamp_tensor_list> gradients;
    ok(syclamp_optimizer_gradients(optimizer, gradients.address()));
    ok(syclamp_scaler_prepare(scaler, gradients));
    handles = {scaler, optimizer, max_norm.data()};
    ok(syclamp_recorded_step_create(engine(), calls, &handles, SYCLAMP_RECORD_IF_POSSIBLE, step.address()));
  }
  std::vector<std::unique_ptr<device_floats>> others;  // the allocator hands out what was freed, and writes over it
  for (int i = 0; i < 16; ++i) others.push_back(std::make_unique<device_floats>(std::vector<float>(4, inf)));
  if (has_graphs()) {
    ok(syclamp_recorded_step_run(step));
    ok(syclamp_recorded_step_run(step));
    CHECK(model.read() == std::vector<float>(4, 0.0f));
  } else {
    CHECK(syclamp_recorded_step_run(step) == SYCLAMP_INVALID_HANDLE);  // the calls themselves find no objects
  }
}

TEST_CASE("a block that is freed inside a recording lives as long as the recorded step") {
  void* block = nullptr;
  ok(syclamp_memory_allocate(engine(), 64, SYCLAMP_DEVICE_MEMORY, &block));
  const auto calls = [](void* user) -> std::int32_t {
    return syclamp_memory_fill(engine(), user, 0, 64) | syclamp_memory_free(user);
  };
  const auto step = record(calls, block);
  const device_floats next(std::vector<float>(16, 1.0f));  // gets the same memory if it was freed
  if (!has_graphs()) ok(syclamp_memory_free(block));
  if (has_graphs()) ok(syclamp_recorded_step_run(step));
  CHECK(next.read() == std::vector<float>(16, 1.0f));
}

TEST_CASE("a recorded step reads changed addresses") {
  training run;
  prepare(run);
  owned<syclamp_tensor_list> gradients;
  ok(syclamp_optimizer_gradients(run.optimizer, gradients.address()));
  const auto step = record(make_step, &run);
  for (int i = 1; i <= 3; ++i) {
    const device_floats moved(std::vector<float>{65536, 0, 0, 0});  // gone after this round
    ok(syclamp_tensor_list_set_address(gradients, 0, moved.data()));
    ok(syclamp_recorded_step_run(step));
    CHECK(run.model.read() == std::vector<float>{1 - 0.5f * static_cast<float>(i), 1, 1, 1});
  }
  ok(syclamp_tensor_list_set_address(gradients, 0, nullptr));
  ok(syclamp_recorded_step_run(step));
  CHECK(run.model.read() == std::vector<float>{-0.5f, 1, 1, 1});
}

TEST_CASE("a recording that fails changes nothing, whatever its function returns") {
  training run;
  prepare(run);
  const std::string before = state_of(run);
  float host[4] = {};
  void* memory = nullptr;
  if (has_graphs()) {
    const auto begin = [&] { static_cast<void>(syclamp_scaler_begin_step(run.scaler, nullptr)); };
    CHECK(record_ignoring([&] {
            begin();
            syclamp_memory_copy_out(engine(), host, run.model.data(), sizeof host);  // waits
          }) == SYCLAMP_MISUSE);
    CHECK(std::string(syclamp_last_error()).find("inside the recorded step: syclamp_memory_copy_out") !=
          std::string::npos);
    CHECK(record_ignoring([&] {
            begin();
            syclamp_memory_copy_in(engine(), run.model.data(), host, sizeof host);
          }) == SYCLAMP_MISUSE);
    CHECK(record_ignoring([&] { syclamp_optimizer_set_lr(run.optimizer, 0, 4); }) == SYCLAMP_MISUSE);
    CHECK(record_ignoring([&] { syclamp_engine_wait(engine()); }) == SYCLAMP_MISUSE);
    CHECK(record_ignoring([&] { syclamp_scaler_update(run.scaler); }) == SYCLAMP_MISUSE);
    CHECK(record_ignoring([&] { syclamp_scaler_update(nullptr); }) == SYCLAMP_INVALID_HANDLE);
    CHECK(record_ignoring([&] { syclamp_engine_depend_on(engine(), nullptr, 0); }) == SYCLAMP_MISUSE);
    sycl::event event;
    CHECK(record_ignoring([&] { syclamp_engine_get_event(engine(), &event); }) == SYCLAMP_MISUSE);
    const auto other = record(make_step, &run);
    CHECK(record_ignoring([&] { syclamp_recorded_step_run(other); }) == SYCLAMP_MISUSE);
    syclamp_recorded_step nested = nullptr;
    CHECK(record_ignoring([&] {
            syclamp_recorded_step_create(engine(), make_step, &run, SYCLAMP_RECORD_NEVER, &nested);
          }) == SYCLAMP_MISUSE);
    CHECK(nested == nullptr);
    CHECK(record_ignoring([&] { syclamp_memory_allocate(engine(), 64, SYCLAMP_DEVICE_MEMORY, &memory); }) ==
          SYCLAMP_MISUSE);
    CHECK(memory == nullptr);
  }
  syclamp_recorded_step made = nullptr;
  const auto seven = [](void*) -> std::int32_t { return 7; };
  const syclamp_status status = syclamp_recorded_step_create(engine(), seven, nullptr, 0, &made);
  CHECK(status == (has_graphs() ? SYCLAMP_CALLBACK_FAILED : SYCLAMP_OK));
  CHECK(syclamp_recorded_step_destroy(made) == SYCLAMP_OK);
  const auto late = record(seven, nullptr, SYCLAMP_RECORD_NEVER);
  CHECK(message(SYCLAMP_CALLBACK_FAILED, syclamp_recorded_step_run(late)).find("returned 7") != std::string::npos);
  made = nullptr;
  CHECK(syclamp_recorded_step_create(engine(), nullptr, nullptr, 0, &made) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_recorded_step_create(engine(), make_step, &run, 2, &made) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_recorded_step_create(engine(), make_step, &run, -1, &made) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_recorded_step_create(engine(), make_step, &run, 0, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_recorded_step_is_recorded(late, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(made == nullptr);
  CHECK(state_of(run) == before);
  CHECK(run.model.read() == std::vector<float>(4, 1.0f));
  run.step({1, 1, 1, 1});
  CHECK(run.model.read() == std::vector<float>(4, 0.5f));
}

TEST_CASE("a recorded step refuses objects of another queue") {
  owned<syclamp_engine> other;
  ok(syclamp_engine_create(nullptr, other.address()));
  owned<syclamp_scaler> scaler;
  ok(syclamp_scaler_create(other, nullptr, nullptr, scaler.address()));
  CHECK(record_ignoring([&] { static_cast<void>(syclamp_scaler_begin_step(scaler, nullptr)); }) ==
        SYCLAMP_INVALID_ARGUMENT);
  CHECK(std::string(syclamp_last_error()).find("make all objects of a step with one engine") != std::string::npos);
  ok(syclamp_scaler_begin_step(scaler, nullptr));  // nothing had run
}

TEST_CASE("a step without prepare, and a consensus, cannot be recorded") {
  if (!has_graphs()) SKIP("the device has no graphs");
  syclamp_recorded_step made = nullptr;
  training unprepared;
  CHECK(message(SYCLAMP_MISUSE, syclamp_recorded_step_create(engine(), make_step, &unprepared, 0, &made))
            .find("prepare") != std::string::npos);
  auto options = sized<syclamp_scaler_options>();
  options.ranks = 2;
  options.consensus_sum = [](void*, float*, std::size_t) -> std::int32_t { return 0; };
  training ranks(nullptr, &options);
  prepare(ranks);
  CHECK(syclamp_recorded_step_create(engine(), make_step, &ranks, 0, &made) != SYCLAMP_OK);
  CHECK(made == nullptr);
  unprepared.step({1, 1, 1, 1});
  CHECK(unprepared.model.read() == std::vector<float>(4, 0.5f));
}

TEST_CASE("a spike guard skips the step of a loss that jumps") {
  training run;
  device_floats loss({1.0f});
  auto options = sized<syclamp_spike_guard_options>();
  options.threshold = 4;
  options.window = 4;
  owned<syclamp_spike_guard> guard;
  ok(syclamp_spike_guard_create(engine(), &options, guard.address()));
  auto record = sized<syclamp_step_record>();
  const auto step = [&](float value) {
    loss.write({value});
    ok(syclamp_spike_guard_check(guard, loss.data(), run.scaler));
    run.step({1, 0, 0, 0});
    ok(syclamp_scaler_outcome(run.scaler, 0, &record));
    return record.outcome;
  };
  for (int i = 0; i < 8; ++i) CHECK(step(i % 2 == 0 ? 1.0f : 1.25f) == SYCLAMP_APPLIED);
  CHECK(step(100.0f) == SYCLAMP_SKIPPED_BY_USER);
  CHECK(step(1.0f) == SYCLAMP_APPLIED);
  CHECK(step(std::nanf("")) == SYCLAMP_SKIPPED_BY_USER);
  CHECK(record.next_scale == 65536.0f);  // the scale does not move
  CHECK(run.model.read()[0] == 1 - 9 * 0.5f);
}

TEST_CASE("unusable spike guards and numbers are refused") {
  training run;
  syclamp_spike_guard made = nullptr;
  auto options = sized<syclamp_spike_guard_options>();
  for (const float threshold : {-1.0f, inf, std::nanf("")}) {
    options.threshold = threshold;
    CHECK(syclamp_spike_guard_create(engine(), &options, &made) == SYCLAMP_INVALID_ARGUMENT);
  }
  options.threshold = 0;
  options.window = 1;
  CHECK(syclamp_spike_guard_create(engine(), &options, &made) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_spike_guard_create(engine(), nullptr, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(made == nullptr);
  owned<syclamp_spike_guard> guard;
  ok(syclamp_spike_guard_create(engine(), nullptr, guard.address()));
  const float on_host = 1;
  const device_floats block({1});
  CHECK(syclamp_spike_guard_check(guard, nullptr, run.scaler) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_spike_guard_check(guard, &on_host, run.scaler) == SYCLAMP_INVALID_ARGUMENT);
  const auto* too_late = reinterpret_cast<const float*>(reinterpret_cast<const char*>(block.data()) + 1);
  CHECK(syclamp_spike_guard_check(guard, too_late, run.scaler) == SYCLAMP_INVALID_ARGUMENT);
  owned<syclamp_engine> other;
  ok(syclamp_engine_create(nullptr, other.address()));
  owned<syclamp_scaler> elsewhere;
  ok(syclamp_scaler_create(other, nullptr, nullptr, elsewhere.address()));
  CHECK(syclamp_spike_guard_check(guard, block.data(), elsewhere) == SYCLAMP_INVALID_ARGUMENT);
}
