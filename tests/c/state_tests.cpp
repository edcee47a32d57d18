// SPDX-License-Identifier: Apache-2.0
// States in files and in the formats of other frameworks, ledgers as text, and the state of optimizers.
#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/c/support.hpp"
#include "tests/c/training.hpp"

using namespace c_tests;

namespace {

std::string framework_state(const training& run, const char* framework) {
  char* json = nullptr;
  ok(syclamp_scaler_get_framework_state(run.scaler, framework, &json));
  return take(json);
}

syclamp_policy preset(const char* name) {
  auto policy = sized<syclamp_policy>();
  ok(syclamp_policy_preset(name, &policy));
  return policy;
}

std::string ledger_of(const training& run, syclamp_ledger_format format) {
  ok(syclamp_engine_wait(engine()));
  char* text = nullptr;
  ok(syclamp_scaler_ledger_text(run.scaler, format, &text));
  return take(text);
}

}  // namespace

TEST_CASE("a scaler resumes from the saved state of PyTorch") {
  const auto policy = preset("pytorch");
  training run(&policy);
  // As torch.amp.GradScaler.state_dict() is saved: one clean step before growth.
  const char* saved = R"({"scale": 1024.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 3,
                          "_growth_tracker": 2})";
  ok(syclamp_scaler_set_framework_state(run.scaler, "pytorch", saved));
  float scale = 0;
  ok(syclamp_scaler_get_scale(run.scaler, 0, &scale));
  CHECK(scale == 1024.0f);
  run.step({1, 1, 1, 1});
  ok(syclamp_scaler_get_scale(run.scaler, 0, &scale));
  CHECK(scale == 2048.0f);
  run.step({1, 1, 1, 1});
  const std::string json = framework_state(run, "pytorch");
  for (const char* part : {"\"scale\":2048", "\"growth_interval\":3", "\"_growth_tracker\":1"}) {
    std::string packed;
    for (const char letter : json)
      if (letter != ' ' && letter != '\n') packed += letter;
    CAPTURE(json, part);
    CHECK(packed.find(part) != std::string::npos);
  }
}

TEST_CASE("a state round-trips through every framework") {
  for (const char* framework : {"pytorch", "keras3", "keras2", "apex", "deepspeed", "megatron"}) {
    CAPTURE(framework);
    auto policy = preset(framework);
    training run(&policy), other(&policy);
    run.step({1, 1, 1, 1});
    run.step({inf, 1, 1, 1});
    run.step({1, 1, 1, 1});
    const std::string json = framework_state(run, framework);
    ok(syclamp_scaler_set_framework_state(other.scaler, framework, json.c_str()));
    CHECK(framework_state(other, framework) == json);
  }
}

TEST_CASE("unusable framework states are refused and change nothing") {
  const auto policy = preset("pytorch");
  training run(&policy);
  const std::string before = framework_state(run, "pytorch");
  char* json = nullptr;
  CHECK(
      message(SYCLAMP_INVALID_ARGUMENT, syclamp_scaler_get_framework_state(run.scaler, "caffe", &json)).find("caffe") !=
      std::string::npos);
  CHECK(syclamp_scaler_get_framework_state(run.scaler, nullptr, &json) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_scaler_get_framework_state(run.scaler, "pytorch", nullptr) == SYCLAMP_INVALID_ARGUMENT);
  for (const char* wrong : {"", "{", "{}", "[]", "{\"scale\": -1}", "{\"scale\": 1e400}"})
    CHECK(syclamp_scaler_set_framework_state(run.scaler, "pytorch", wrong) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_scaler_set_framework_state(run.scaler, "pytorch", nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_scaler_set_framework_state(run.scaler, nullptr, before.c_str()) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(framework_state(run, "pytorch") == before);
  ok(syclamp_scaler_begin_step(run.scaler, nullptr));
  CHECK(syclamp_scaler_get_framework_state(run.scaler, "pytorch", &json) == SYCLAMP_MISUSE);
  CHECK(syclamp_scaler_set_framework_state(run.scaler, "pytorch", before.c_str()) == SYCLAMP_MISUSE);
  CHECK(json == nullptr);
}

TEST_CASE("a state is saved to a file and loaded") {
  const auto folder = std::filesystem::temp_directory_path() / "syclamp-c-state-tests";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "scaler.json").string();
  training run, other;
  run.step({inf, 1, 1, 1});
  ok(syclamp_scaler_save_state(run.scaler, file.c_str()));
  ok(syclamp_scaler_load_state(other.scaler, file.c_str()));
  float scale = 0;
  ok(syclamp_scaler_get_scale(other.scaler, 0, &scale));
  CHECK(scale == 32768.0f);
  CHECK(ledger_of(other, SYCLAMP_LEDGER_CSV) == ledger_of(run, SYCLAMP_LEDGER_CSV));
  std::ofstream(file) << "no state";
  CHECK(message(SYCLAMP_FILE_ERROR, syclamp_scaler_load_state(other.scaler, file.c_str())).find("scaler.json") !=
        std::string::npos);
  CHECK(syclamp_scaler_load_state(other.scaler, "/nowhere/file") == SYCLAMP_FILE_ERROR);
  CHECK(syclamp_scaler_save_state(other.scaler, "/nowhere/file") == SYCLAMP_FILE_ERROR);
  CHECK(syclamp_scaler_save_state(other.scaler, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_scaler_load_state(other.scaler, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  ok(syclamp_scaler_begin_step(other.scaler, nullptr));
  CHECK(syclamp_scaler_save_state(other.scaler, file.c_str()) == SYCLAMP_MISUSE);
  ok(syclamp_scaler_get_scale(other.scaler, 0, &scale));
  CHECK(scale == 32768.0f);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a ledger is read back from its text") {
  training run;
  run.step({1, 0, 0, 0});
  run.step({1, inf, 1, 1});
  run.step({1, 1, 1, 1});
  for (const syclamp_ledger_format format : {SYCLAMP_LEDGER_CSV, SYCLAMP_LEDGER_JSON_LINES}) {
    const std::string text = ledger_of(run, format);
    syclamp_step_record direct[3] = {sized<syclamp_step_record>()}, read[3] = {sized<syclamp_step_record>()};
    std::size_t count = 0;
    ok(syclamp_scaler_records(run.scaler, direct, 3, &count));
    ok(syclamp_ledger_read(text.c_str(), read, 2, &count));
    CHECK(count == 3);
    CHECK(read[2].step == 0);  // there was room for two
    ok(syclamp_ledger_read(text.c_str(), read, 3, nullptr));
    CHECK(std::memcmp(&read[0], &direct[0], sizeof read[0]) == 0);
    CHECK(std::memcmp(&read[2], &direct[2], sizeof read[2]) == 0);
    CHECK(read[1].outcome == SYCLAMP_SKIPPED_INF);
    CHECK(std::string(read[1].first_nonfinite_name) == "weights");
    CHECK(std::isnan(read[1].amax));  // Inf has no place in a text
  }
  std::size_t count = 9;
  ok(syclamp_ledger_read("", nullptr, 0, &count));
  CHECK(count == 0);
  CHECK(syclamp_ledger_read(nullptr, nullptr, 0, &count) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(message(SYCLAMP_INVALID_ARGUMENT, syclamp_ledger_read("{\"step\": 1}\n{\"step\":", nullptr, 0, &count))
            .find("line") != std::string::npos);
}

TEST_CASE("a policy is applied to a recorded run") {
  training run;
  for (int i = 0; i < 4; ++i) run.step({0.5f, 0, 0, 0});  // amax is 32768 at the scale 65536
  const std::string text = ledger_of(run, SYCLAMP_LEDGER_CSV);
  auto policy = preset(nullptr);
  policy.init_scale = 0x1p18;
  auto report = sized<syclamp_replay_report>();
  syclamp_simulated_step results[4] = {sized<syclamp_simulated_step>()};
  ok(syclamp_ledger_replay(text.c_str(), &policy, &report, results, 3));
  // 0.5 * 2^18 and 0.5 * 2^17 exceed 65504, 0.5 * 2^16 does not.
  CHECK(report.steps == 4);
  CHECK(report.skips == 2);
  CHECK(report.recorded_skips == 0);
  CHECK(report.zero_share == 0.75);
  CHECK(report.subnormal_share == 0.0);
  CHECK(report.final_scale == 0x1p16f);
  CHECK(report.max_safe_scale == 0x1p16f);
  CHECK(results[0].scale_before == 0x1p18f);
  CHECK(results[0].scale_after == 0x1p17f);
  CHECK(results[1].outcome == SYCLAMP_SKIPPED_INF);
  CHECK(results[2].outcome == SYCLAMP_APPLIED);
  CHECK(results[3].scale_before == 0.0f);  // there was room for three
  policy.init_scale = 0x1p12;
  ok(syclamp_ledger_replay(text.c_str(), &policy, &report, nullptr, 0));
  CHECK(report.skips == 0);
  CHECK(report.final_scale == 0x1p12f);
  CHECK(report.max_safe_scale == 0x1p16f);
  ok(syclamp_ledger_replay(text.c_str(), nullptr, &report, nullptr, 0));
  CHECK(report.skips == 0);
  policy.growth_factor = 0;
  CHECK(syclamp_ledger_replay(text.c_str(), &policy, &report, nullptr, 0) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_ledger_replay("no ledger", nullptr, &report, nullptr, 0) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_ledger_replay(nullptr, nullptr, &report, nullptr, 0) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("presets have notes") {
  std::size_t count = 0;
  ok(syclamp_preset_count(&count));
  const char* note = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    ok(syclamp_preset_note(i, &note));
    CHECK(note != nullptr);
  }
  CHECK(syclamp_preset_note(count, &note) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_preset_note(0, nullptr) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("moments and step numbers can be read and set") {
  auto chosen = settings(SYCLAMP_ADAM, 0.5);
  chosen.beta1 = 0.5;
  chosen.beta2 = 0.75;
  training run(nullptr, nullptr, chosen);
  run.step({2, 4, 0, -2});
  auto moment = sized<syclamp_tensor>();
  ok(syclamp_optimizer_state(run.optimizer, 0, 0, &moment));
  CHECK(moment.count == 4);
  CHECK(moment.type == SYCLAMP_FLOAT32);
  CHECK(std::string(moment.name) == "weights");
  std::vector<float> values(4);
  ok(syclamp_memory_copy_out(engine(), values.data(), moment.address, 16));
  CHECK(values == std::vector<float>{1, 2, 0, -1});  // (1 - beta1) * g
  ok(syclamp_optimizer_state(run.optimizer, 0, 1, &moment));
  ok(syclamp_memory_copy_out(engine(), values.data(), moment.address, 16));
  CHECK(values == std::vector<float>{1, 4, 0, 1});  // (1 - beta2) * g^2
  CHECK(syclamp_optimizer_state(run.optimizer, 0, 2, &moment) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_state(run.optimizer, 1, 0, &moment) == SYCLAMP_INVALID_ARGUMENT);

  const std::uint64_t* device_steps = nullptr;
  ok(syclamp_optimizer_device_steps(run.optimizer, 0, &device_steps));
  std::uint64_t steps = 0;
  ok(syclamp_memory_copy_out(engine(), &steps, device_steps, sizeof steps));
  CHECK(steps == 1);
  const std::uint64_t wanted[] = {41, 42};
  ok(syclamp_optimizer_set_steps(run.optimizer, wanted, 1));
  ok(syclamp_optimizer_steps(run.optimizer, 0, &steps));
  CHECK(steps == 41);
  CHECK(syclamp_optimizer_set_steps(run.optimizer, wanted, 2) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_set_steps(run.optimizer, nullptr, 1) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_device_steps(run.optimizer, 1, &device_steps) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_device_steps(run.optimizer, 0, nullptr) == SYCLAMP_INVALID_ARGUMENT);
  std::size_t count = 9;
  ok(syclamp_optimizer_tensor_moments(run.optimizer, nullptr, 0, &count));
  CHECK(count == 0);

  training novograd(nullptr, nullptr, settings(SYCLAMP_NOVOGRAD, 0.5));
  novograd.step({3, 4, 0, 0});
  float moments[2] = {-1, -1};
  ok(syclamp_optimizer_tensor_moments(novograd.optimizer, moments, 2, &count));
  CHECK(count == 1);
  CHECK(moments[0] == 25.0f);  // the first one is the square of the norm
  CHECK(moments[1] == -1.0f);
  moments[0] = 4;
  ok(syclamp_optimizer_set_tensor_moments(novograd.optimizer, moments, 1));
  moments[0] = 0;
  ok(syclamp_optimizer_tensor_moments(novograd.optimizer, moments, 1, nullptr));
  CHECK(moments[0] == 4.0f);
  for (const float wrong : {-1.0f, inf, std::nanf("")})
    CHECK(syclamp_optimizer_set_tensor_moments(novograd.optimizer, &wrong, 1) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_set_tensor_moments(novograd.optimizer, moments, 2) == SYCLAMP_INVALID_ARGUMENT);
  CHECK(syclamp_optimizer_set_tensor_moments(novograd.optimizer, nullptr, 1) == SYCLAMP_INVALID_ARGUMENT);
}

TEST_CASE("the unscaled gradients of an optimizer can be read") {
  const device_values<std::uint16_t> halves({0x3c00, 0x4000});  // 1 and 2 in FP16
  const device_floats model({0, 0});
  auto parameter = sized<syclamp_parameter>();
  parameter.count = 2;
  parameter.gradient = halves.data();
  parameter.gradient_type = SYCLAMP_FLOAT16;
  parameter.model = model.data();
  parameter.model_type = SYCLAMP_FLOAT32;
  auto storage = sized<syclamp_storage_options>();
  storage.unscaled_shadow = 1;
  const auto chosen = settings(SYCLAMP_SGD, 1.0);
  owned<syclamp_tensor_list> shadow;
  auto described = sized<syclamp_tensor>();
  {
    owned<syclamp_optimizer> optimizer;
    ok(syclamp_optimizer_create(engine(), &parameter, 1, &chosen, 1, &storage, optimizer.address()));
    const auto scaler = scaler_of();
    ok(syclamp_scaler_begin_step(scaler, nullptr));
    owned<syclamp_unscaled> unscaled;
    ok(syclamp_scaler_unscale(scaler, optimizer, nullptr, unscaled.address()));
    ok(syclamp_unscaled_list(unscaled, shadow.address()));
    CHECK(syclamp_unscaled_list(unscaled, nullptr) == SYCLAMP_INVALID_ARGUMENT);
    // Gradients in FP32 are unscaled in place, so the list is the optimizer's own.
    training in_place;
    ok(syclamp_scaler_begin_step(in_place.scaler, nullptr));
    owned<syclamp_unscaled> same;
    owned<syclamp_tensor_list> gradients;
    ok(syclamp_scaler_unscale(in_place.scaler, in_place.optimizer, nullptr, same.address()));
    ok(syclamp_unscaled_list(same, gradients.address()));
    ok(syclamp_tensor_list_tensor(gradients, 0, &described));
    CHECK(described.address == in_place.gradient.data());
    ok(syclamp_tensor_list_set_address(gradients, 0, in_place.gradient.data()));
  }  // the list keeps the optimizer's memory
  ok(syclamp_tensor_list_tensor(shadow, 0, &described));
  CHECK(described.type == SYCLAMP_FLOAT32);
  float values[2] = {};
  ok(syclamp_memory_copy_out(engine(), values, described.address, sizeof values));
  CHECK(values[0] == 0x1p-16f);
  CHECK(values[1] == 0x1p-15f);
  CHECK(message(SYCLAMP_MISUSE, syclamp_tensor_list_set_address(shadow, 0, nullptr)).find("shadow") !=
        std::string::npos);
  void* const none[] = {nullptr};
  CHECK(syclamp_tensor_list_set_addresses(shadow, none, 1) == SYCLAMP_MISUSE);
}
