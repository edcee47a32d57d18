// SPDX-License-Identifier: Apache-2.0
// The C++ snippets of docs/migrating, and what the pages say about them. tests/lint/pages.py checks that every snippet
// stands here.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"

using namespace syclamp;

namespace {

const engine& page_engine() { return all_engines().front(); }

/// What the snippets use: a loss, an optimizer, and a model whose second batch overflows.
struct model {
  void forward(int batch) { overflows = batch == 1; }
  void backward() {
    const std::vector<float> gradients(training::elements, overflows ? infinity : 1.0f);
    page_engine().queue().memcpy(gradient_memory.data(), gradients.data(), gradients.size() * sizeof(float)).wait();
  }

  bool overflows = false;
  device_buffer<float> loss_memory{page_engine().queue(), {3.0f}},
      gradient_memory{page_engine().queue(), std::vector<float>(training::elements, 0.0f)};
  tensor_list loss{page_engine(), array_view(loss_memory.data(), 1)};
  adding_optimizer optimizer{page_engine(), training::elements, gradient_memory.data()};
};

/// The scales that a policy has after each of `steps` overflows.
std::vector<float> scales_after_overflows(const scaling_policy& policy, int steps) {
  scaler_snapshot snapshot = scaler_snapshot::fresh(policy);
  std::vector<float> scales;
  for (int i = 0; i < steps; ++i) scales.push_back(simulate_step(snapshot, {.flags = found_inf}).scale_after);
  return scales;
}

}  // namespace

// In each loop the scale is a power of two and the gradients are 1, so their norm, 10 / scale, is below the limit of 1,
// and nothing is clipped.

TEST_CASE("migrating from PyTorch") {
  model code;
  const engine& engine = page_engine();
  const tensor_list& loss = code.loss;
  adding_optimizer& optimizer = code.optimizer;
  const auto forward = [&](int batch) { code.forward(batch); };
  const auto backward = [&] { code.backward(); };
  const int batches = 3;

  loss_scaler scaler(engine, scaling_preset("pytorch"));
  for (int batch = 0; batch < batches; ++batch) {
    forward(batch);                              // your kernels, in FP16
    scaler.scale(loss);                          // multiplies the loss, in place
    backward();                                  // your kernels; they overwrite the old gradients
    scaler.step(optimizer, {.max_norm = 1.0f});  // unscales, clips and applies; or skips
    scaler.update();
  }

  CHECK(optimizer.weight() == 1 / 65536.0f + 1 / 32768.0f);
  CHECK(scaler.outcome().skipped == 1);
}

TEST_CASE("migrating from PyTorch: settings and state") {
  const engine& engine = page_engine();
  SECTION("settings") {
    scaling_policy policy = scaling_preset("pytorch");
    policy.init_scale = 1024;
    policy.growth_interval = 500;
    loss_scaler scaler(engine, policy);
    CHECK(scaler.get_scale() == 1024.0f);
  }
  SECTION("state") {
    const std::string text =
        R"({"scale": 1024.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 9, "_growth_tracker": 7})";
    loss_scaler scaler(engine, scaling_preset("pytorch"));
    scaler.load(from_framework_state(text, "pytorch", scaler.state()));
    CHECK(scaler.get_scale() == 1024.0f);
    CHECK(scaler.state().scales[0].clean_steps == 7);
    CHECK(scaler.policy().growth_interval == 9);
  }
}

TEST_CASE("migrating from Keras") {
  model code;
  const engine& engine = page_engine();
  const tensor_list& loss = code.loss;
  adding_optimizer& optimizer = code.optimizer;
  const auto forward = [&](int batch) { code.forward(batch); };
  const auto backward = [&] { code.backward(); };
  const int batches = 3;

  loss_scaler scaler(engine, scaling_preset("keras3"));
  for (int batch = 0; batch < batches; ++batch) {
    forward(batch);
    scaler.scale(loss);                          // scale_loss
    backward();                                  // tape.gradient: leaves scaled gradients
    scaler.step(optimizer, {.max_norm = 1.0f});  // apply, part 1: unscale, clip, apply or skip
    scaler.update();                             // apply, part 2: move the scale
  }

  CHECK(optimizer.weight() == 1 / 32768.0f + 1 / 16384.0f);
}

TEST_CASE("migrating from Keras: settings and state") {
  const engine& engine = page_engine();
  SECTION("settings") {
    scaling_policy policy = scaling_preset("keras3");
    policy.init_scale = 1024;      // initial_scale=1024
    policy.growth_interval = 500;  // dynamic_growth_steps=500
    loss_scaler scaler(engine, policy);
    CHECK(scaler.get_scale() == 1024.0f);
    policy.growth_factor = 4;  // the page: the presets divide by it
    CHECK(scales_after_overflows(policy, 1) == std::vector{256.0f});
  }
  SECTION("state") {
    const std::string text =
        R"({"step_counter": 7, "dynamic_scale": 1024.0, "initial_scale": 32768.0, "dynamic_growth_steps": 2000})";
    loss_scaler scaler(engine, scaling_preset("keras3"));
    scaler.load(from_framework_state(text, "keras3", scaler.state()));
    CHECK(scaler.get_scale() == 1024.0f);
    CHECK(scaler.state().scales[0].clean_steps == 7);
  }
}

TEST_CASE("migrating from APEX") {
  model code;
  const engine& engine = page_engine();
  const tensor_list& loss = code.loss;
  adding_optimizer& optimizer = code.optimizer;
  const auto forward = [&](int batch) { code.forward(batch); };
  const auto backward = [&] { code.backward(); };
  const int batches = 3;

  loss_scaler scaler(engine, scaling_preset("apex"));
  for (int batch = 0; batch < batches; ++batch) {
    forward(batch);
    scaler.scale(loss);  // entering amp.scale_loss
    backward();
    scaler.step(optimizer, {.max_norm = 1.0f});  // leaving it, clip_grad_norm_ and optimizer.step
    scaler.update();
  }

  CHECK(optimizer.weight() == 1 / 65536.0f + 1 / 32768.0f);
}

TEST_CASE("migrating from APEX: settings and state") {
  const engine& engine = page_engine();
  SECTION("settings") {
    scaling_policy policy = scaling_preset("apex");
    policy.min = 1;       // min_loss_scale=1.0
    policy.max = 0x1p20;  // max_loss_scale=2.0**20
    loss_scaler scaler(engine, policy);
    CHECK(scales_after_overflows(policy, 20).back() == 1.0f);
  }
  SECTION("state") {
    const std::string text = R"({"loss_scaler0": {"loss_scale": 1024.0, "unskipped": 7}})";
    loss_scaler scaler(engine, scaling_preset("apex"));
    scaler.load(from_framework_state(text, "apex", scaler.state()));
    CHECK(scaler.get_scale() == 1024.0f);
    CHECK(scaler.state().scales[0].clean_steps == 7);
  }
}

TEST_CASE("migrating from DeepSpeed") {
  model code;
  const engine& engine = page_engine();
  const tensor_list& loss = code.loss;
  adding_optimizer& optimizer = code.optimizer;
  const auto forward = [&](int batch) { code.forward(batch); };
  const auto backward = [&] { code.backward(); };
  const int batches = 3;

  scaling_policy policy = scaling_preset("deepspeed");
  policy.init_scale = 0x1p12;    // "initial_scale_power": 12
  policy.growth_interval = 500;  // "loss_scale_window": 500
  policy.hysteresis = 4;         // "hysteresis": 4
  policy.min = 0.5;              // "min_loss_scale": 0.5
  loss_scaler scaler(engine, policy);
  for (int batch = 0; batch < batches; ++batch) {
    forward(batch);
    scaler.scale(loss);                          // engine.backward, part 1
    backward();                                  // engine.backward, part 2
    scaler.step(optimizer, {.max_norm = 1.0f});  // engine.step with "gradient_clipping": 1.0
    scaler.update();
  }

  CHECK(optimizer.weight() == 2 / 4096.0f);  // hysteresis: the overflow lowers nothing yet
  CHECK(scales_after_overflows(policy, 4) == std::vector{4096.0f, 4096.0f, 4096.0f, 2048.0f});
}

TEST_CASE("migrating from DeepSpeed: state") {
  const engine& engine = page_engine();
  const std::string text =
      R"({"dynamic_loss_scale": true, "cur_scale": 1024.0, "cur_iter": 20, "last_overflow_iter": 12,
    "cur_hysteresis": 3, "scale_factor": 2.0, "scale_window": 500, "min_scale": 0.5, "delayed_shift": 4,
    "consecutive_hysteresis": false})";

  loss_scaler scaler(engine, scaling_preset("deepspeed"));
  scaler.load(from_framework_state(text, "deepspeed", scaler.state()));

  CHECK(scaler.get_scale() == 1024.0f);
  CHECK(scaler.policy().growth_interval == 500);
  CHECK(scaler.policy().min == 0.5);
  CHECK(scaler.policy().hysteresis == 4);
}

TEST_CASE("migrating from Megatron-LM") {
  model code;
  const engine& engine = page_engine();
  const tensor_list& loss = code.loss;
  adding_optimizer& optimizer = code.optimizer;
  const auto forward = [&](int batch) { code.forward(batch); };
  const auto backward = [&] { code.backward(); };
  const int batches = 3;

  scaling_policy policy = scaling_preset("megatron");
  policy.init_scale = 65536;     // --initial-loss-scale 65536
  policy.min = 1;                // --min-loss-scale 1
  policy.growth_interval = 500;  // --loss-scale-window 500
  policy.hysteresis = 4;         // --hysteresis 4
  loss_scaler scaler(engine, policy);
  for (int batch = 0; batch < batches; ++batch) {
    forward(batch);
    scaler.scale(loss);
    backward();
    scaler.step(optimizer, {.max_norm = 1.0f});  // --clip-grad 1.0
    scaler.update();
  }

  CHECK(optimizer.weight() == 2 / 65536.0f);
  CHECK(scaling_preset("megatron").init_scale == 0x1p32);
}

TEST_CASE("migrating from Megatron-LM: state") {
  const engine& engine = page_engine();
  const scaling_policy policy = scaling_preset("megatron");
  const std::string text = R"({"scale": [1024.0], "growth_tracker": 7, "hysteresis_tracker": 2})";

  loss_scaler scaler(engine, policy);
  scaler.load(from_framework_state(text, "megatron", scaler.state()));

  CHECK(scaler.get_scale() == 1024.0f);
  CHECK(scaler.state().scales[0].clean_steps == 7);
}

TEST_CASE("migrating from MXNet") {
  model code;
  const engine& engine = page_engine();
  const tensor_list& loss = code.loss;
  adding_optimizer& optimizer = code.optimizer;
  const auto forward = [&](int batch) { code.forward(batch); };
  const auto backward = [&] { code.backward(); };
  const int batches = 3;

  loss_scaler scaler(engine, scaling_preset("mxnet"));
  for (int batch = 0; batch < batches; ++batch) {
    forward(batch);
    scaler.scale(loss);      // entering amp.scale_loss
    backward();              // autograd.backward
    scaler.step(optimizer);  // trainer.step
    scaler.update();
  }

  CHECK(optimizer.weight() == 2 / 65536.0f);  // one step late: the third loss still has the old scale
  CHECK(scaler.get_scale() == 32768.0f);
}

TEST_CASE("migrating from MXNet: settings") {
  const engine& engine = page_engine();
  SECTION("without the delay") {
    scaling_policy policy = scaling_preset("mxnet");
    policy.replay.one_step_late = false;
    loss_scaler scaler(engine, policy);
    CHECK(scales_after_overflows(policy, 1) == std::vector{32768.0f});
    CHECK(scales_after_overflows(scaling_preset("mxnet"), 1) == std::vector{65536.0f});
  }
  SECTION("the scale that it had") {
    scaling_policy policy = scaling_preset("mxnet");
    policy.init_scale = 8192;  // trainer._amp_loss_scaler.loss_scale
    loss_scaler scaler(engine, policy);
    CHECK(scaler.get_scale() == 8192.0f);
  }
}

TEST_CASE("the page on migrating lists the keys of every framework's state") {
  std::ifstream file(std::filesystem::path(SYCLAMP_SOURCE_DIR) / "docs/migrating/index.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  for (const char* framework : {"pytorch", "keras3", "keras2", "apex", "deepspeed", "megatron"}) {
    CAPTURE(framework);
    const std::size_t start = page.find("| `" + std::string(framework) + "` | ");
    REQUIRE(start != std::string::npos);
    const std::string row = page.substr(start, page.find('\n', start) - start);
    const std::string state = to_framework_state(scaler_snapshot::fresh(scaling_preset("megatron")), framework);
    for (std::size_t end = state.find("\":"); end != std::string::npos; end = state.find("\":", end + 1)) {
      const std::size_t begin = state.rfind('"', end - 1) + 1;
      const std::string key = state.substr(begin, end - begin);
      CAPTURE(key);
      CHECK(row.find("`" + key + "`") != std::string::npos);
    }
  }
}
