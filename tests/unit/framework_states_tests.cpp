// SPDX-License-Identifier: Apache-2.0
// Checkpoints of other frameworks, against models of these frameworks that know nothing of the library.
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "scaler/scale_numbers.hpp"
#include "syclamp/error.hpp"
#include "syclamp/framework_states.hpp"
#include "syclamp/presets.hpp"
#include "syclamp/simulation.hpp"
#include "tests/support/state_equality.hpp"

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using syclamp::from_framework_state;
using syclamp::scaler_snapshot;
using syclamp::to_framework_state;

namespace {

const std::vector<std::string> frameworks{"pytorch", "keras3", "keras2", "apex", "deepspeed", "megatron"};

struct pytorch_model {
  float scale = 65536;
  double growth = 2, backoff = 0.5;
  int interval = 2000, tracker = 0;

  void step(bool overflow) {
    if (overflow) scale = static_cast<float>(scale * backoff);
    tracker = overflow ? 0 : tracker + 1;
    if (tracker == interval) {
      scale = static_cast<float>(scale * growth);
      tracker = 0;
    }
  }
  json state() const {
    return {{"scale", scale},
            {"growth_factor", growth},
            {"backoff_factor", backoff},
            {"growth_interval", interval},
            {"_growth_tracker", tracker}};
  }
};

struct keras3_model {
  float scale = 32768;
  int steps = 2000, counter = 0;

  void step(bool overflow) {
    const bool grows = !overflow && counter == steps - 1;
    scale = overflow ? scale / 2 : grows ? scale * 2 : scale;
    counter = overflow || grows ? 0 : counter + 1;
  }
  json state() const {
    return {{"step_counter", counter},
            {"dynamic_scale", scale},
            {"initial_scale", 32768.0},
            {"dynamic_growth_steps", steps}};
  }
};

struct keras2_model {
  float scale = 32768;
  int steps = 2000, good = 0;

  void step(bool overflow) {
    const bool grows = !overflow && good + 1 >= steps;
    scale = overflow ? std::max(scale / 2, 1.0f) : grows ? scale * 2 : scale;
    good = overflow || grows ? 0 : good + 1;
  }
  json state() const { return {{"current_loss_scale", scale}, {"good_steps", good}}; }
};

struct apex_model {
  double scale = 65536;
  int window = 2000, unskipped = 0;

  void step(bool overflow) {
    if (overflow) {
      scale /= 2;
      unskipped = 0;
    } else if (++unskipped == window) {
      scale = std::min(scale * 2, 0x1p24);
      unskipped = 0;
    }
  }
  json state() const { return {{"loss_scaler0", {{"loss_scale", scale}, {"unskipped", unskipped}}}}; }
};

struct deepspeed_model {
  double scale = 65536, factor = 2, least = 1;
  int window = 1000, shift = 2, hysteresis = 2;
  bool is_consecutive = false;
  int iteration = 0, last_overflow = -1;

  void step(bool overflow) {
    if (overflow) {
      if (shift == 1 || hysteresis == 1) {
        scale = std::max(scale / factor, least);
      } else {
        --hysteresis;
      }
      last_overflow = iteration;
    } else {
      if (is_consecutive) hysteresis = shift;
      const int stable = iteration - last_overflow - 1;
      if (stable > 0 && stable % window == 0) {
        hysteresis = shift;
        scale *= factor;
      }
    }
    ++iteration;
  }
  json state() const {
    return {{"dynamic_loss_scale", true},   {"cur_scale", scale},
            {"cur_iter", iteration},        {"last_overflow_iter", last_overflow},
            {"cur_hysteresis", hysteresis}, {"scale_factor", factor},
            {"scale_window", window},       {"min_scale", least},
            {"delayed_shift", shift},       {"consecutive_hysteresis", is_consecutive}};
  }
};

struct megatron_model {
  float scale = 0x1p32f;
  int interval = 1000, most = 2, growth_tracker = 0, hysteresis_tracker = 2;

  void step(bool overflow) {
    if (overflow) {
      growth_tracker = 0;
      if (--hysteresis_tracker <= 0) scale = std::max(scale * 0.5f, 1.0f);
    } else if (++growth_tracker == interval) {
      growth_tracker = 0;
      hysteresis_tracker = most;
      scale *= 2;
    }
  }
  json state() const {
    return {{"scale", scale}, {"growth_tracker", growth_tracker}, {"hysteresis_tracker", hysteresis_tracker}};
  }
};

scaler_snapshot short_of(const std::string& preset, std::uint32_t interval) {
  syclamp::scaling_policy policy = syclamp::scaling_preset(preset);
  policy.growth_interval = interval;
  return scaler_snapshot::fresh(policy);
}

void step(scaler_snapshot& scaler, bool overflow) {
  simulate_step(scaler, {overflow ? syclamp::found_inf : syclamp::found_nothing, 1.0f});
}

float scale_of(const scaler_snapshot& scaler) { return scaler.scales.at(0).scale; }

/// At every step of a random run: we save what the model saves, and a scaler that loads it continues like the model.
/// `base` is a new scaler with those settings of the model that the framework does not save.
template <typename Model>
void check_against(Model model, const std::string& framework, const scaler_snapshot& base, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<bool> run(120);
  for (std::size_t i = 0; i < run.size(); ++i) run[i] = random() % 5 == 0;
  scaler_snapshot ours = from_framework_state(model.state().dump(), framework, base);
  for (std::size_t now = 0; now < 60; ++now) {
    CAPTURE(framework, now, seed);
    json saved = model.state();
    if (framework == "megatron") saved["hysteresis_tracker"] = std::max(1, saved["hysteresis_tracker"].get<int>());
    REQUIRE(json::parse(to_framework_state(ours, framework)) == saved);

    scaler_snapshot loaded = from_framework_state(model.state().dump(), framework, base);
    Model future = model;
    for (std::size_t later = now; later < run.size(); ++later) {
      step(loaded, run[later]);
      future.step(run[later]);
      REQUIRE(scale_of(loaded) == static_cast<float>(future.scale));
    }
    step(ours, run[now]);
    model.step(run[now]);
  }
}

template <typename Model>
void check_against(const Model& model, const std::string& framework, const scaler_snapshot& base) {
  for (unsigned seed = 0; seed < 5; ++seed) check_against(model, framework, base, seed);
}

/// The policy that a framework has, with counters that move soon.
scaler_snapshot busy(const std::string& framework) {
  scaler_snapshot scaler = short_of(framework, 3);
  if (framework == "deepspeed" || framework == "megatron") scaler.policy.hysteresis = 3;
  return scaler;
}

std::string state_with(const std::string& framework, const std::string& key, const json& value) {
  json state = json::parse(to_framework_state(busy(framework), framework));
  (framework == "apex" && !key.starts_with("loss_scaler") ? state["loss_scaler0"] : state)[key] = value;
  return state.dump();
}

}  // namespace

TEST_CASE("PyTorch: a checkpoint resumes as if never stopped") {
  pytorch_model model;
  model.interval = 3;
  check_against(model, "pytorch", scaler_snapshot::fresh(syclamp::scaling_preset("pytorch")));
  model.growth = 1.5;
  model.backoff = 0.7;  // rounds
  check_against(model, "pytorch", scaler_snapshot::fresh(syclamp::scaling_preset("pytorch")));
  model.tracker = 5;  // the interval was lowered: no growth until the next overflow
  check_against(model, "pytorch", scaler_snapshot::fresh(syclamp::scaling_preset("pytorch")));
}

TEST_CASE("Keras 3: a checkpoint resumes as if never stopped") {
  keras3_model model;
  model.steps = 3;
  check_against(model, "keras3", scaler_snapshot::fresh(syclamp::scaling_preset("keras3")));
}

TEST_CASE("Keras 2: a checkpoint resumes as if never stopped") {
  keras2_model model;
  model.steps = 3;
  model.scale = 4;
  check_against(model, "keras2", short_of("keras2", 3));
}

TEST_CASE("apex: a checkpoint resumes as if never stopped") {
  apex_model model;
  model.window = 3;
  check_against(model, "apex", short_of("apex", 3));
  model.scale = 100000.1;  // an FP64
  check_against(model, "apex", short_of("apex", 3));
}

TEST_CASE("DeepSpeed: a checkpoint resumes as if never stopped") {
  const scaler_snapshot base = scaler_snapshot::fresh(syclamp::scaling_preset("deepspeed"));
  deepspeed_model model;
  model.window = 3;
  check_against(model, "deepspeed", base);
  model.is_consecutive = true;
  check_against(model, "deepspeed", base);
  model.shift = model.hysteresis = 3;
  model.factor = 3;
  model.least = 0.25;
  check_against(model, "deepspeed", base);
  model.shift = model.hysteresis = 1;
  check_against(model, "deepspeed", base);
  scaler_snapshot multiplies = base;
  multiplies.policy.replay.backoff_by_growth = false;
  check_against(model, "deepspeed", multiplies);
  model.window = 1;
  model.iteration = 5000;
  model.last_overflow = 2000;
  check_against(model, "deepspeed", base);
}

TEST_CASE("Megatron: a checkpoint resumes as if never stopped, also after hysteresis is used up") {
  megatron_model model;
  model.interval = 3;
  check_against(model, "megatron", short_of("megatron", 3));
  scaler_snapshot base = short_of("megatron", 3);
  base.policy.hysteresis = 4;
  model.most = 4;
  model.hysteresis_tracker = -7;
  check_against(model, "megatron", base);
  CHECK(from_framework_state(model.state().dump(), "megatron", base).scales[0].tolerated == 3);
}

TEST_CASE("what is saved in a framework's keys is read back, at any step") {
  for (const std::string& framework : frameworks) {
    std::mt19937 random(1);
    scaler_snapshot scaler = busy(framework), fresh = scaler;
    for (int i = 0; i < 60; ++i) {
      CAPTURE(framework, i);
      REQUIRE(same(from_framework_state(to_framework_state(scaler, framework), framework, scaler), scaler));
      const scaler_snapshot moved = from_framework_state(to_framework_state(scaler, framework), framework, fresh);
      REQUIRE(same(moved.policy, scaler.policy));
      REQUIRE(same_bits(moved.scales[0].exact, scaler.scales[0].exact));
      REQUIRE(moved.scales[0].clean_steps == scaler.scales[0].clean_steps);
      REQUIRE(moved.scales[0].tolerated == scaler.scales[0].tolerated);
      step(scaler, random() % 4 == 0);
    }
  }
}

TEST_CASE("a run that moves to another framework grows there when it would have grown here") {
  for (const std::string& from : frameworks) {
    for (const std::string& to : frameworks) {
      for (int clean_steps = 1; clean_steps < 12; ++clean_steps) {
        CAPTURE(from, to, clean_steps);
        scaler_snapshot here =
            from_framework_state(R"({"current_loss_scale": 1024, "good_steps": 0})", "keras2", short_of(from, 4));
        here.scales[0].clean_steps = 0;
        for (int i = 0; i < clean_steps; ++i) step(here, false);
        scaler_snapshot there = from_framework_state(to_framework_state(here, to), to, short_of(to, 4));
        for (int i = 0; i < 4; ++i) {
          REQUIRE(scale_of(here) == scale_of(there));
          step(here, false);
          step(there, false);
        }
      }
    }
  }
}

TEST_CASE("our own policy can be saved in every framework's keys, and read into it") {
  for (const std::string& framework : frameworks) {
    CAPTURE(framework);
    scaler_snapshot scaler = short_of("syclamp", 5);
    for (const bool overflow : {true, false, false, false}) step(scaler, overflow);
    const scaler_snapshot read = from_framework_state(to_framework_state(scaler, framework), framework, scaler);
    CHECK(same(read.scales, scaler.scales));
    step(scaler, false);
    step(scaler, false);
    CHECK(scale_of(scaler) == 65536.0f);  // grew at the fifth
  }
}

TEST_CASE("apex has an entry for every scale") {
  scaler_snapshot scaler = scaler_snapshot::fresh(syclamp::scaling_preset("apex"), 3);
  step(scaler, true);
  scaler.scales[2].clean_steps = 7;
  const json saved = json::parse(to_framework_state(scaler, "apex"));
  CHECK(saved.size() == 3);
  CHECK(saved["loss_scaler0"]["loss_scale"] == 32768.0);
  CHECK(saved["loss_scaler2"]["unskipped"] == 7);
  CHECK(same(from_framework_state(saved.dump(), "apex", scaler), scaler));
  const scaler_snapshot from_one =
      from_framework_state(saved.dump(), "apex", scaler_snapshot::fresh(syclamp::scaling_preset("apex")));
  REQUIRE(from_one.scales.size() == 3);
  CHECK(from_one.scales[2].clean_steps == 7);

  json damaged = saved;
  damaged.erase("loss_scaler1");
  CHECK_THROWS_WITH(from_framework_state(damaged.dump(), "apex", scaler),
                    ContainsSubstring("the key loss_scaler1 is missing"));
  for (const std::string& framework : frameworks) {
    if (framework == "apex") continue;
    CHECK_THROWS_WITH(to_framework_state(scaler, framework), ContainsSubstring("3 scales"));
    CHECK_THROWS_WITH(from_framework_state(to_framework_state(busy(framework), framework), framework, scaler),
                      ContainsSubstring("3 scales"));
  }
}

TEST_CASE("scaling that is off is what the framework makes of it") {
  scaler_snapshot off = scaler_snapshot::fresh({.mode = syclamp::scaling_mode::disabled});
  CHECK(to_framework_state(off, "pytorch") == "{}");
  CHECK(same(from_framework_state("{}", "pytorch", off), off));
  CHECK_THROWS_WITH(from_framework_state("{}", "pytorch", busy("pytorch")),
                    ContainsSubstring("the key growth_factor is missing"));
  CHECK_THROWS_WITH(to_framework_state(off, "megatron"), ContainsSubstring("disabled"));
  CHECK_THROWS_WITH(from_framework_state(to_framework_state(busy("keras2"), "keras2"), "keras2", off),
                    ContainsSubstring("disabled"));

  scaler_snapshot fixed = scaler_snapshot::fresh({.mode = syclamp::scaling_mode::fixed, .init_scale = 128});
  CHECK(same(from_framework_state("{}", "megatron", fixed), fixed));  // ConstantGradScaler saves nothing
  CHECK(json::parse(to_framework_state(fixed, "deepspeed"))["dynamic_loss_scale"] == false);
  const scaler_snapshot loaded = from_framework_state(
      R"({"dynamic_loss_scale": false, "cur_scale": 64, "cur_iter": 9})", "deepspeed", busy("deepspeed"));
  CHECK(loaded.policy.mode == syclamp::scaling_mode::fixed);
  CHECK(scale_of(loaded) == 64.0f);
}

TEST_CASE("a scale that is still to come cannot be told to others") {
  scaler_snapshot scaler = scaler_snapshot::fresh(syclamp::scaling_preset("mxnet"));
  CHECK_NOTHROW(to_framework_state(scaler, "pytorch"));
  step(scaler, true);
  CHECK_THROWS_WITH(to_framework_state(scaler, "pytorch"), ContainsSubstring("65536 will become 32768"));
}

TEST_CASE("a scale is rounded to what the policy's arithmetic keeps") {
  const double odd = 100000.1;
  const std::string text = json{{"current_loss_scale", odd}, {"good_steps", 0}}.dump();
  const auto exact = [&](const char* preset) {
    return syclamp::to_double(from_framework_state(text, "keras2", short_of(preset, 3)).scales[0].exact);
  };
  CHECK(exact("keras2") == static_cast<double>(static_cast<float>(odd)));
  CHECK(exact("apex") == odd);
}

TEST_CASE("a key that is missing or holds what cannot be is refused by name and value") {
  for (const std::string& framework : frameworks) {
    json state = json::parse(to_framework_state(busy(framework), framework));
    const bool is_apex = framework == "apex";
    const json fields = is_apex ? state["loss_scaler0"] : state;
    for (const auto& [key, value] : fields.items()) {
      CAPTURE(framework, key);
      json damaged = state;
      (is_apex ? damaged["loss_scaler0"] : damaged).erase(key);
      CHECK_THROWS_WITH(from_framework_state(damaged.dump(), framework, busy(framework)),
                        ContainsSubstring("the key " + key + " is missing"));
      for (const json& wrong : {json("text"), json::object(), json(nullptr), json::array({1, 2}),
                                value.is_boolean() ? json(1) : json(true)})
        CHECK_THROWS_WITH(from_framework_state(state_with(framework, key, wrong), framework, busy(framework)),
                          ContainsSubstring(framework) && ContainsSubstring(key + " is"));
      if (value.is_number_integer())
        for (const json& wrong : {json(1.5), json(18446744073709551615u), json(-9223372036854775807)})
          CHECK_THROWS_WITH(from_framework_state(state_with(framework, key, wrong), framework, busy(framework)),
                            ContainsSubstring(key + " is"));
    }
  }
}

TEST_CASE("scales and settings that cannot be are refused") {
  struct wrong {
    std::string framework, key;
    json value;
    std::string complaint;
  };
  const std::vector<wrong> all{
      {"pytorch", "scale", 0.0, "scale is 0.0"},
      {"pytorch", "scale", -1.0, "scale is -1.0"},
      {"pytorch", "scale", 1e39, "scale is 1e+39"},
      {"pytorch", "scale", 1e-39, "scale is 1e-39"},
      {"pytorch", "growth_factor", 0.5, "growth_factor is 0.5"},
      {"pytorch", "backoff_factor", 2.0, "backoff_factor is 2"},
      {"pytorch", "growth_interval", 0, "growth_interval is 0"},
      {"pytorch", "growth_interval", 4294967296, "growth_interval is 4294967296"},
      {"pytorch", "_growth_tracker", -1, "_growth_tracker is -1"},
      {"keras3", "dynamic_growth_steps", 0, "dynamic_growth_steps is 0"},
      {"keras3", "initial_scale", 0.0, "initial_scale is 0"},
      {"apex", "loss_scale", 0.0, "loss_scaler0: loss_scale is 0"},
      {"apex", "loss_scaler0", 5, "loss_scaler0: it is 5"},
      {"deepspeed", "cur_hysteresis", 0, "cur_hysteresis is 0"},
      {"deepspeed", "cur_hysteresis", 4, "cur_hysteresis is 4"},
      {"deepspeed", "last_overflow_iter", 0, "last_overflow_iter is 0"},
      {"deepspeed", "last_overflow_iter", -2, "last_overflow_iter is -2"},
      {"deepspeed", "cur_iter", 9000000000, "last_overflow_iter"},
      {"deepspeed", "scale_factor", 1.0, "scale_factor is 1.0"},
      {"deepspeed", "min_scale", 0, "min_scale is 0"},
      {"megatron", "hysteresis_tracker", 4, "hysteresis_tracker is 4; it must be at most 3"},
  };
  for (const wrong& mistake : all) {
    CAPTURE(mistake.framework, mistake.key);
    CHECK_THROWS_WITH(from_framework_state(state_with(mistake.framework, mistake.key, mistake.value), mistake.framework,
                                           busy(mistake.framework)),
                      ContainsSubstring(mistake.complaint));
  }
  CHECK_THROWS_WITH(
      from_framework_state(state_with("pytorch", "growth_factor", 1.5), "pytorch", scaler_snapshot::fresh({})),
      ContainsSubstring("pytorch state: it does not fit the base") && ContainsSubstring("power_of_two"));
  CHECK_THROWS_WITH(
      from_framework_state(R"({"dynamic_loss_scale": true, "cur_scale": 64, "cur_iter": 9, "scale_factor": 2,
                                        "scale_window": 5, "last_overflow_iter": -1})",
                           "deepspeed", busy("deepspeed")),
      ContainsSubstring("FP16_Optimizer"));
}

TEST_CASE("what frameworks add to their checkpoints is passed over; tensors with one number are numbers") {
  CHECK(same(from_framework_state(state_with("pytorch", "mine", {{"deep", {1, 2}}}), "pytorch", busy("pytorch")),
             busy("pytorch")));
  CHECK(scale_of(from_framework_state(state_with("megatron", "scale", {64.0}), "megatron", busy("megatron"))) == 64.0f);
}

TEST_CASE("texts that are no checkpoints, and frameworks that are not known, are refused") {
  for (const char* text : {"", "[]", "5", "{", "{\"scale\": NaN}", "{\"scale\": 1, \"scale\": 2}"})
    CHECK_THROWS_AS(from_framework_state(text, "pytorch", busy("pytorch")), syclamp::invalid_argument);
  CHECK_THROWS_AS(from_framework_state(std::string(1 << 20, '['), "pytorch", busy("pytorch")),
                  syclamp::invalid_argument);
  CHECK_THROWS_WITH(
      to_framework_state(busy("pytorch"), "torch"),
      ContainsSubstring("\"torch\"") && ContainsSubstring("pytorch, keras3, keras2, apex, deepspeed, megatron"));
  CHECK_THROWS_WITH(from_framework_state("{}", "", busy("pytorch")), ContainsSubstring("is not supported"));
  CHECK_THROWS_WITH(to_framework_state({}, "pytorch"), ContainsSubstring("no scale"));
  CHECK_THROWS_WITH(from_framework_state("{}", "pytorch", {}), ContainsSubstring("no scale"));
}

TEST_CASE("random damage to a checkpoint never does worse than to be refused") {
  std::mt19937 random(2);
  for (const std::string& framework : frameworks) {
    const std::string whole = to_framework_state(busy(framework), framework);
    for (int i = 0; i < 1000; ++i) {
      std::string text = whole;
      for (auto n = random() % 3; n < 3; ++n) text[random() % text.size()] = static_cast<char>(random());
      try {
        const scaler_snapshot loaded = from_framework_state(text, framework, busy(framework));
        CHECK(same(syclamp::snapshot_from_json(to_json(loaded)), loaded));
      } catch (const syclamp::invalid_argument& problem) {
        CHECK(std::string(problem.what()).size() > 10);
      }
    }
  }
}
