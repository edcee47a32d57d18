// SPDX-License-Identifier: Apache-2.0
// The scaler, ledger and checkpoints of the C interface. Numbers are powers of two, so results are exact.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "tests/c/support.hpp"
#include "tests/c/training.hpp"

using namespace c_tests;

TEST_CASE("a step unscales and applies, and an overflow is skipped as a whole") {
  training run;
  run.step({1, 2, 0, -1});
  CHECK(run.model.read() == std::vector<float>{0.5f, 0.0f, 1.0f, 1.5f});
  run.step({1, inf, 1, 1});
  CHECK(run.model.read() == std::vector<float>{0.5f, 0.0f, 1.0f, 1.5f});
  float scale = 0;
  ok(syclamp_scaler_get_scale(run.scaler, 0, &scale));
  CHECK(scale == 32768.0f);

  auto record = sized<syclamp_step_record>();
  ok(syclamp_scaler_outcome(run.scaler, 0, &record));
  CHECK(record.outcome == SYCLAMP_SKIPPED_INF);
  CHECK(std::string(syclamp_step_outcome_name(record.outcome)) == "skipped_inf");
  CHECK(std::string(syclamp_step_status_name(record.status)) == "ok");
  CHECK(record.first_nonfinite == 1);
  CHECK(record.first_nonfinite_tensor == 0);
  CHECK(std::string(record.first_nonfinite_name) == "weights");
  CHECK((record.flags & SYCLAMP_FOUND_INF) != 0);
  CHECK(record.applied == 1);
  CHECK(record.skipped == 1);
  CHECK(record.scale == 65536.0f);
  CHECK(record.next_scale == 32768.0f);

  auto progress = sized<syclamp_optimizer_progress>();
  ok(syclamp_optimizer_get_progress(run.optimizer, 0, &progress));
  CHECK(progress.finished == 2);
  CHECK(progress.applied == 1);
  CHECK(progress.last_was_applied == 0);
  std::uint64_t steps = 0;
  ok(syclamp_optimizer_steps(run.optimizer, 0, &steps));
  CHECK(steps == 1);
}

TEST_CASE("clipping, by value and by a number on the device") {
  training run;
  auto options = sized<syclamp_step_options>();
  options.max_norm = 2.5f;
  CHECK(syclamp_scaler_step(run.scaler, run.optimizer, &options) == SYCLAMP_INVALID_ARGUMENT);  // clip is not set
  options.clip = 1;
  run.step({3, 0, 4, 0}, &options);  // norm 5: half of it
  const std::vector<float> clipped = run.model.read();
  CHECK(std::fabs(clipped[0] - 0.25f) < 1e-6f);
  CHECK(std::fabs(clipped[2] - 0.0f) < 1e-6f);
  const device_floats limit({0.0f});
  options.device_max_norm = limit.data();
  run.step({3, 0, 4, 0}, &options);
  CHECK(run.model.read() == clipped);
}

TEST_CASE("the ledger: records, text and a handler") {
  training run;
  std::vector<std::uint64_t> seen;
  const auto handler = [](void* user, const syclamp_step_record* record) {
    static_cast<std::vector<std::uint64_t>*>(user)->push_back(record->step);
  };
  ok(syclamp_scaler_on_step(run.scaler, handler, &seen));
  run.step({1, 1, 1, 1});
  run.step({inf, 1, 1, 1});
  run.step({1, 1, 1, 1});
  ok(syclamp_engine_wait(engine()));
  ok(syclamp_scaler_report(run.scaler));
  CHECK(seen == std::vector<std::uint64_t>{1, 2, 3});
  ok(syclamp_scaler_on_step(run.scaler, nullptr, nullptr));

  std::size_t count = 0;
  ok(syclamp_scaler_records(run.scaler, nullptr, 0, &count));
  CHECK(count == 3);
  syclamp_step_record records[4] = {sized<syclamp_step_record>()};
  ok(syclamp_scaler_records(run.scaler, records, 2, &count));
  CHECK(count == 2);
  CHECK(records[0].step == 2);
  CHECK(records[1].step == 3);
  CHECK(records[1].struct_size == sizeof records[1]);
  CHECK(records[2].step == 0);
  char* text = nullptr;
  ok(syclamp_scaler_ledger_text(run.scaler, SYCLAMP_LEDGER_CSV, &text));
  const std::string csv = take(text);
  CHECK(csv.find("step,") == 0);
  CHECK(csv.find("skipped_inf") != std::string::npos);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
  ok(syclamp_scaler_ledger_text(run.scaler, SYCLAMP_LEDGER_JSON_LINES, &text));
  CHECK(take(text).find("{\"") == 0);
}

TEST_CASE("a state and a checkpoint resume bit-identically") {
  training run;
  run.step({1, 2, 3, 4});
  run.step({inf, 0, 0, 0});
  char* state = nullptr;
  ok(syclamp_scaler_get_state(run.scaler, &state));
  const std::string json = take(state);
  training other;
  ok(syclamp_scaler_set_state(other.scaler, json.c_str()));
  float scale = 0;
  ok(syclamp_scaler_get_scale(other.scaler, 0, &scale));
  CHECK(scale == 32768.0f);
  ok(syclamp_scaler_get_state(other.scaler, &state));
  CHECK(take(state) == json);

  const std::string file = (std::filesystem::temp_directory_path() / "syclamp-c-tests.ckpt").string();
  const syclamp_optimizer saved = run.optimizer;
  ok(syclamp_checkpoint_save(file.c_str(), &saved, 1, run.scaler, "epoch\0 7", 8));
  training resumed;
  const syclamp_optimizer loaded = resumed.optimizer;
  char* notes = nullptr;
  std::size_t bytes = 0;
  ok(syclamp_checkpoint_load(file.c_str(), &loaded, 1, resumed.scaler, &notes, &bytes));
  CHECK(std::string(notes, bytes) == std::string("epoch\0 7", 8));
  ok(syclamp_text_free(notes));
  CHECK(resumed.model.read() == run.model.read());
  CHECK(syclamp_checkpoint_load(file.c_str(), &loaded, 1, nullptr, nullptr, nullptr) == SYCLAMP_FILE_ERROR);
  std::filesystem::remove(file);
}

TEST_CASE("objects keep what they need after their handles are gone") {
  syclamp_optimizer optimizer = nullptr;
  syclamp_scaler scaler = nullptr;
  void* gradient = nullptr;
  const std::size_t live = syclamp_live_objects();
  {
    syclamp_engine own = nullptr;
    ok(syclamp_engine_create(nullptr, &own));
    void* model = nullptr;
    ok(syclamp_memory_allocate(own, 16, SYCLAMP_DEVICE_MEMORY, &gradient));
    ok(syclamp_memory_allocate(own, 16, SYCLAMP_DEVICE_MEMORY, &model));
    const float ones[4] = {65536, 65536, 65536, 65536};
    ok(syclamp_memory_copy_in(own, gradient, ones, 16));
    ok(syclamp_memory_fill(own, model, 0, 16));
    auto parameter = sized<syclamp_parameter>();
    parameter.count = 4;
    parameter.gradient = gradient;
    parameter.model = model;
    parameter.gradient_type = parameter.model_type = SYCLAMP_FLOAT32;
    const auto chosen = settings(SYCLAMP_SGD, 1.0);
    ok(syclamp_optimizer_create(own, &parameter, 1, &chosen, 1, nullptr, &optimizer));
    ok(syclamp_scaler_create(own, nullptr, nullptr, &scaler));
    ok(syclamp_memory_free(model));
    ok(syclamp_memory_free(gradient));
    ok(syclamp_engine_destroy(own));
  }
  ok(syclamp_scaler_begin_step(scaler, nullptr));
  ok(syclamp_scaler_step(scaler, optimizer, nullptr));
  float weights[4] = {};
  ok(syclamp_optimizer_weights(optimizer, 0, weights, 4));
  CHECK(weights[3] == -1.0f);
  // The optimizer's handle goes while its step is open.
  ok(syclamp_optimizer_destroy(optimizer));
  ok(syclamp_scaler_update(scaler));
  float scale = 0;
  ok(syclamp_scaler_get_scale(scaler, 0, &scale));
  ok(syclamp_scaler_destroy(scaler));
  CHECK(syclamp_live_objects() == live);
}

TEST_CASE("accumulation, joint steps, update to a scale, and steps that the program skips") {
  training run;
  const device_floats micro({65536, 65536, 65536, 65536});
  const auto gradients = list_of({tensor(micro.data(), 4)});
  owned<syclamp_tensor_list> sum;
  ok(syclamp_optimizer_gradients(run.optimizer, sum.address()));
  ok(syclamp_memory_fill(engine(), run.gradient.data(), 0, 16));
  for (int i = 0; i < 2; ++i) {
    ok(syclamp_scaler_begin_step(run.scaler, nullptr));
    ok(syclamp_scaler_accumulate(run.scaler, gradients, sum));
    ok(syclamp_scaler_update(run.scaler));
  }
  ok(syclamp_scaler_begin_step(run.scaler, nullptr));
  ok(syclamp_scaler_step_accumulated(run.scaler, run.optimizer, nullptr));
  ok(syclamp_scaler_update_to(run.scaler, 1024.0f));
  CHECK(run.model.read() == std::vector<float>(4, 0.5f));  // the mean is 1
  float scale = 0;
  ok(syclamp_scaler_get_scale(run.scaler, 0, &scale));
  CHECK(scale == 1024.0f);

  training second;
  const syclamp_optimizer both[] = {run.optimizer, second.optimizer};
  run.gradient.write({1024, 1024, 1024, 1024});
  second.gradient.write({1024, inf, 0, 0});
  ok(syclamp_scaler_begin_step(run.scaler, nullptr));
  ok(syclamp_scaler_step_jointly(run.scaler, both, 2, nullptr));
  ok(syclamp_scaler_update(run.scaler));
  CHECK(run.model.read() == std::vector<float>(4, 0.5f));
  CHECK(second.model.read() == std::vector<float>(4, 1.0f));

  std::uint32_t* flags = nullptr;
  ok(syclamp_scaler_user_flags(run.scaler, &flags));
  const std::uint32_t by_user = SYCLAMP_FOUND_BY_USER;
  ok(syclamp_memory_copy_in(engine(), flags, &by_user, sizeof by_user));
  run.step({1, 1, 1, 1});
  auto record = sized<syclamp_step_record>();
  ok(syclamp_scaler_outcome(run.scaler, 0, &record));
  CHECK(record.outcome == SYCLAMP_SKIPPED_BY_USER);
}

namespace {

struct consensus_calls {
  int calls = 0;
  int result = 0;
  float add = 0;  ///< what another rank adds to each number
};

std::int32_t add_other_rank(void* user, float* numbers, std::size_t count) {
  auto& state = *static_cast<consensus_calls*>(user);
  ++state.calls;
  std::vector<float> values(count);
  if (syclamp_memory_copy_out(engine(), values.data(), numbers, count * sizeof(float)) != SYCLAMP_OK) return 70;
  for (float& value : values) value += state.add;
  if (syclamp_memory_copy_in(engine(), numbers, values.data(), count * sizeof(float)) != SYCLAMP_OK) return 71;
  return state.result;
}

}  // namespace

TEST_CASE("ranks decide together by a function of the program") {
  consensus_calls state;
  auto options = sized<syclamp_scaler_options>();
  options.ranks = 2;
  options.consensus_sum = add_other_rank;
  options.consensus_user = &state;
  training run(nullptr, &options);
  run.step({1, 1, 1, 1});
  CHECK(state.calls == 1);
  CHECK(run.model.read() == std::vector<float>(4, 0.5f));
  state.add = 1;  // the other rank has found something
  run.step({1, 1, 1, 1});
  CHECK(run.model.read() == std::vector<float>(4, 0.5f));
  state.result = 5;
  ok(syclamp_scaler_begin_step(run.scaler, nullptr));
  CHECK(message(SYCLAMP_CALLBACK_FAILED, syclamp_scaler_step(run.scaler, run.optimizer, nullptr)).find("returned 5") !=
        std::string::npos);
}

TEST_CASE("several scales lie apart by the stride, and move apart") {
  auto options = sized<syclamp_scaler_options>();
  options.scales = 2;
  options.skip_separately = 1;
  const auto scaler = scaler_of(nullptr, &options);
  const device_floats values({inf, 1});
  auto second = tensor(values.data() + 1, 1);
  second.group = 1;
  const auto list = list_of({tensor(values.data(), 1), second});
  const float* scales = nullptr;
  ok(syclamp_scaler_prepare(scaler, list));
  ok(syclamp_scaler_begin_step(scaler, &scales));
  const syclamp_step_decision* decisions = nullptr;
  ok(syclamp_scaler_inspect(scaler, list, nullptr, &decisions));
  syclamp_step_decision read[2];
  ok(syclamp_memory_copy_out(engine(), read, decisions, sizeof read));
  CHECK(read[0].apply == 0);
  CHECK(read[1].apply == 1);
  CHECK(read[1].unscale_first * read[1].unscale_second == 1.0f / 65536.0f);
  ok(syclamp_scaler_update(scaler));
  std::vector<float> moved(syclamp_scaler_scale_stride() + 1);
  ok(syclamp_scaler_device_scale(scaler, &scales));
  ok(syclamp_memory_copy_out(engine(), moved.data(), scales, moved.size() * sizeof(float)));
  CHECK(moved.front() == 32768.0f);
  CHECK(moved.back() == 65536.0f);
}

TEST_CASE("a loss is scaled, and gradients are unscaled before the step") {
  training run;
  const device_floats loss({3}), scaled({0}), shadow(std::vector<float>(4));
  ok(syclamp_scaler_scale(run.scaler, list_of({tensor(loss.data(), 1)}), list_of({tensor(scaled.data(), 1)})));
  CHECK(scaled.read()[0] == 3 * 65536.0f);
  run.gradient.write({65536, 0, 0, 131072});
  owned<syclamp_unscaled> unscaled;
  ok(syclamp_scaler_unscale(run.scaler, run.optimizer, nullptr, unscaled.address()));
  ok(syclamp_clip_by_value(unscaled, 1, nullptr));
  CHECK(run.gradient.read() == std::vector<float>{1, 0, 0, 1});
  ok(syclamp_scaler_step(run.scaler, run.optimizer, nullptr));
  ok(syclamp_scaler_update(run.scaler));
  CHECK(run.model.read() == std::vector<float>{0.5f, 1, 1, 0.5f});
  ok(syclamp_scaler_begin_step(run.scaler, nullptr));
  run.gradient.write({65536, 0, 0, 0});
  ok(syclamp_scaler_unscale_list(run.scaler, list_of({tensor(run.gradient.data(), 4)}),
                                 list_of({tensor(shadow.data(), 4)}), nullptr, nullptr));
  CHECK(shadow.read() == std::vector<float>{1, 0, 0, 0});
  ok(syclamp_scaler_update(run.scaler));
}
