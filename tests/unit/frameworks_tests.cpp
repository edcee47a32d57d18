// SPDX-License-Identifier: Apache-2.0
// The models of other frameworks' scalers against traces that were worked out by hand from the rules, not from the
// models. A trace has a letter a step: `.` clean, `i` Inf, `n` NaN.
#include <cfloat>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include "syclamp/presets.hpp"
#include "tests/reference/frameworks.hpp"

using namespace reference;

namespace {

using scales = std::vector<float>;
using names = std::vector<std::string>;

gradient found_by(char letter) {
  return letter == '.' ? gradient::clean : letter == 'i' ? gradient::inf : gradient::nan;
}

/// The scale after each step.
scales after(framework& model, const std::string& trace) {
  scales result;
  for (const char letter : trace) result.push_back(model.step(found_by(letter)).scale_after);
  return result;
}
scales after(const std::string& name, const framework_settings& settings, const std::string& trace) {
  return after(*make_framework(name, settings), trace);
}

std::string clean(std::size_t steps) { return std::string(steps, '.'); }

/// Which clean steps change the scale, the first one being 1.
std::vector<std::size_t> changes(framework& model, std::size_t steps) {
  std::vector<std::size_t> result;
  for (std::size_t i = 1; i <= steps; ++i) {
    const framework_step step = model.step(gradient::clean);
    if (step.scale_before != step.scale_after) result.push_back(i);
  }
  return result;
}
using numbers = std::vector<std::size_t>;

/// The models whose preset has some property, so that what follows goes for new ones, too.
names models_with(const std::function<bool(const syclamp::scaling_policy&)>& has_property) {
  names found;
  for (const std::string& name : framework_names())
    if (has_property(syclamp::scaling_preset(name))) found.push_back(name);
  return found;
}

bool is_periodic(const syclamp::scaling_policy& policy) { return policy.growth_mode == syclamp::growth_kind::interval; }

bool has_floor(const syclamp::scaling_policy& policy, double floor) {
  return policy.growth_mode != syclamp::growth_kind::log_max && policy.min == floor;
}

bool clamps(const syclamp::scaling_policy& policy) {
  return policy.replay.bounds == syclamp::bounds_kind::clamp ||
         policy.replay.bounds == syclamp::bounds_kind::clamp_moves;
}

const names periodic = models_with(is_periodic);
const names with_one_multiplier =
    models_with([](const auto& it) { return is_periodic(it) && it.replay.backoff_by_growth; });
const names with_two_factors =
    models_with([](const auto& it) { return is_periodic(it) && !it.replay.backoff_by_growth; });
const names without_floor = models_with([](const auto& it) { return has_floor(it, 0x1p-126); });
const names with_floor_1 = models_with([](const auto& it) { return has_floor(it, 1); });

}  // namespace

TEST_CASE("models skip what is not finite, and there is none of what is not known") {
  CHECK(periodic.size() > with_one_multiplier.size());
  CHECK(with_one_multiplier.size() >= 10);
  CHECK(with_two_factors.size() >= 8);
  CHECK(without_floor.size() >= 5);
  CHECK(with_floor_1.size() >= 13);
  for (const std::string& name : framework_names()) {
    INFO(name);
    const framework_step step = make_framework(name)->step(gradient::clean);
    CHECK(step.applied);
    CHECK_FALSE(make_framework(name)->step(gradient::nan).applied);
  }
  CHECK_THROWS_AS(make_framework("tensorrt"), std::invalid_argument);
}

TEST_CASE("frameworks begin and grow as they do by default") {
  struct row {
    std::string name;
    double init;
    std::size_t first_growth;  // the clean step after which the scale is another, 0 for never
  };
  for (const auto& [name, init, first_growth] : std::vector<row>{{"pytorch", 0x1p16, 2000},
                                                                 {"keras3", 0x1p15, 2000},
                                                                 {"keras2", 0x1p15, 2000},
                                                                 {"tf1", 0x1p15, 2000},
                                                                 {"tf1-contrib", 0x1p15, 2000},
                                                                 {"apex", 0x1p16, 2000},
                                                                 {"apex-hysteresis", 0x1p16, 2000},
                                                                 {"mxnet", 0x1p16, 2001},
                                                                 {"deepspeed", 0x1p16, 1001},
                                                                 {"deepspeed-consecutive", 0x1p16, 1001},
                                                                 {"megatron", 0x1p32, 1000},
                                                                 {"fairseq", 0x1p15, 2000},
                                                                 {"jmp", 0x1p15, 2000},
                                                                 {"oneflow", 0x1p16, 2000},
                                                                 {"paddle", 0x1p16, 2000},
                                                                 {"mindspore", 0x1p24, 2000},
                                                                 {"chainer", 1, 1},
                                                                 {"onnxruntime", 0x1p16, 2000},
                                                                 {"openseq2seq-backoff", 0x1p14, 0},  // at its ceiling
                                                                 {"openseq2seq-logmax", 1, 0}}) {
    INFO(name);
    const auto model = make_framework(name);
    scales all = after(*model, clean(2001));
    all.insert(all.begin(), make_framework(name)->step(gradient::clean).scale_before);
    CHECK(all[0] == static_cast<float>(init));
    std::size_t first = 0;
    for (std::size_t i = all.size() - 1; i > 0; --i)
      if (all[i] != all[0]) first = i;
    CHECK(first == first_growth);
    if (first > 0) CHECK(all[first] == 2 * all[0]);
  }
}

TEST_CASE("frameworks grow with the N-th clean step, DeepSpeed with one more, MXNet a step late") {
  for (const std::string& name : periodic) {
    INFO(name);
    const syclamp::scaling_policy policy = syclamp::scaling_preset(name);
    const bool late = policy.replay.growth_test == syclamp::interval_test::one_later || policy.replay.one_step_late;
    CHECK(changes(*make_framework(name, {.init = 64, .interval = 3}), 9) == (late ? numbers{4, 7} : numbers{3, 6, 9}));

    const auto after_overflow = make_framework(name, {.init = 64, .interval = 3, .hysteresis = 1});
    after(*after_overflow, "..i");
    // Of MXNet, the clean step after the overflow is the one with which the scale falls.
    CHECK(changes(*after_overflow, 7) == (policy.replay.one_step_late ? numbers{1, 4, 7}
                                          : late                      ? numbers{4, 7}
                                                                      : numbers{3, 6}));

    CHECK(changes(*make_framework(name, {.init = 64, .interval = 1}), 3) == (late ? numbers{2, 3} : numbers{1, 2, 3}));
  }
}

TEST_CASE("an interval below the count is missed, reached, wrapped or a divisor") {
  const auto lowered = [](const std::string& name) {
    auto model = make_framework(name, {.init = 64, .interval = 10});
    CHECK(after(*model, clean(5)).back() == 64);
    model->set_interval(3);
    return model;
  };
  for (const char* name : {"pytorch", "keras3", "apex", "apex-hysteresis", "megatron", "paddle", "mxnet"}) {
    INFO(name);
    const auto model = lowered(name);
    CHECK(changes(*model, 50).empty());
    after(*model, "ii");
    CHECK(changes(*model, 4).back() == (name == std::string("mxnet") ? 4 : 3));
  }
  for (const char* name : {"keras2", "tf1", "tf1-contrib", "oneflow", "onnxruntime"}) {
    INFO(name);
    CHECK(changes(*lowered(name), 5) == numbers{1, 4});
  }
  for (const char* name : {"jmp", "mindspore"}) {
    INFO(name);  // 5 + 1 is 0 modulo 3, then three more
    CHECK(changes(*lowered(name), 8) == numbers{4, 7});
  }
  for (const char* name : {"fairseq", "openseq2seq-backoff"}) {
    INFO(name);  // the sixth step
    CHECK(changes(*lowered(name), 5) == numbers{1, 4});
  }
  for (const char* name : {"deepspeed", "deepspeed-consecutive"}) {
    INFO(name);  // the sixth after the first
    CHECK(changes(*lowered(name), 5) == numbers{2, 5});
  }
}

TEST_CASE("hysteresis: five kinds of it") {
  const framework_settings two{.init = 64, .backoff = 0.5, .interval = 100, .hysteresis = 2};
  const auto with_interval = [&](std::uint32_t interval) {
    framework_settings s = two;
    s.interval = interval;
    return s;
  };
  SECTION("TensorFlow's contrib: overflows add up over clean steps, from 0 when the scale moves") {
    CHECK(after("tf1-contrib", two, "i.i.i.i") == scales{64, 64, 32, 32, 32, 32, 16});
    CHECK(after("tf1-contrib", two, "iii") == scales{64, 32, 32});
    CHECK(after("tf1-contrib", with_interval(2), "i..ii") == scales{64, 64, 128, 128, 64});
  }
  SECTION("Paddle: overflows in a row, from 0 after a backoff") {
    CHECK(after("paddle", two, "i.i.iiii") == scales{64, 64, 64, 64, 64, 32, 32, 16});
  }
  SECTION("apex's kernel: in a row, and every further one of the row") {
    CHECK(after("apex-hysteresis", two, "i.i.iiii.i") == scales{64, 64, 64, 64, 64, 32, 16, 8, 8, 8});
  }
  SECTION("Megatron, DeepSpeed: used up for good, until the scale grows") {
    for (const char* name : {"megatron", "deepspeed"}) {
      INFO(name);
      CHECK(after(name, two, "i.i.i") == scales{64, 64, 32, 32, 16});
    }
    CHECK(after("megatron", with_interval(2), "ii..ii") == scales{64, 32, 32, 64, 64, 32});
    CHECK(after("deepspeed", with_interval(2), "ii...ii") == scales{64, 32, 32, 32, 64, 64, 32});
    CHECK(after("deepspeed", with_interval(2), "ii..i") == scales{64, 32, 32, 32, 16});  // a step before growth
  }
  SECTION("DeepSpeed's consecutive: in a row, every further one, refilled by a clean step") {
    CHECK(after("deepspeed-consecutive", two, "i.i.iii.i") == scales{64, 64, 64, 64, 64, 32, 16, 16, 16});
  }
  SECTION("the others have none") {
    for (const std::string& name : with_one_multiplier) {
      if (syclamp::scaling_preset(name).hysteresis != 1) continue;
      INFO(name);
      CHECK(after(name, two, "i.i") == scales{32, 32, 16});
    }
  }
  SECTION("defaults") {
    for (const char* name : {"tf1-contrib", "apex-hysteresis", "deepspeed", "deepspeed-consecutive", "megatron"}) {
      INFO(name);
      CHECK(after(name, {.init = 64, .backoff = 0.5}, "ii") == scales{64, 32});
    }
    CHECK(after("paddle", {.init = 64}, "ii") == scales{32, 16});
  }
}

TEST_CASE("an overflow clears the count of clean steps even where the scale does not move") {
  for (const char* name : {"tf1-contrib", "paddle", "apex-hysteresis", "megatron"}) {
    INFO(name);
    CHECK(after(name, {.init = 64, .interval = 3, .hysteresis = 9}, "..i..") == scales{64, 64, 64, 64, 64});
    CHECK(after(name, {.init = 64, .interval = 3, .hysteresis = 9}, "..i...").back() == 128);
  }
  CHECK(after("deepspeed", {.init = 64, .interval = 3, .hysteresis = 9}, "...i...").back() == 64);
  CHECK(after("deepspeed", {.init = 64, .interval = 3, .hysteresis = 9}, "...i....").back() == 128);
}

TEST_CASE("floors") {
  for (const std::string& name : with_floor_1) {
    INFO(name);
    CHECK(after(name, {.init = 4, .backoff = 0.5, .hysteresis = 1}, "iiii") == scales{2, 1, 1, 1});
    CHECK(after(name, {.init = 0.25, .hysteresis = 1}, "i") == scales{1});  // an overflow raises it
    CHECK(after(name, {.init = 4, .backoff = 0.5, .min = 1.5, .hysteresis = 1}, "iii") == scales{2, 1.5f, 1.5f});
    CHECK(after(name, {.init = 1, .backoff = 0.5, .min = 0.25, .hysteresis = 1}, "iii") == scales{0.5f, 0.25f, 0.25f});
  }
  for (const std::string& name : without_floor) {
    INFO(name);
    CHECK(after(name, {.init = 1, .hysteresis = 1}, std::string(127, 'i')).back() == 0x1p-126f);
    CHECK(after(name, {.init = 1, .hysteresis = 1}, std::string(1000, 'i')).back() == 0x1p-126f);
    const float floored = after(name, {.init = 1, .min = 0.3, .hysteresis = 1}, std::string(9, 'i')).back();
    CHECK(floored == 0.3f);
  }
  // Its floor of 1e-4 is never reached: the halving that would go below it is taken back.
  CHECK(after("fairseq", {.init = 0x1p-11}, "iiii") == scales{0x1p-12f, 0x1p-13f, 0x1p-13f, 0x1p-13f});
  CHECK(after("fairseq", {.init = 4, .min = 1}, "iii") == scales{2, 2, 2});
  // An overflow there counts as a step: growth comes with the third clean one, and not at once.
  CHECK(after("fairseq", {.init = 2, .min = 1, .interval = 3}, "ii...") == scales{2, 2, 2, 2, 4});
  // DeepSpeed's would have raised an exception from the second one on, and counts on.
  CHECK(after("deepspeed", {.init = 2, .interval = 2, .hysteresis = 1}, "iii...") == scales{1, 1, 1, 1, 1, 2});
}

TEST_CASE("the end of FP32's range") {
  for (const std::string& name : periodic) {
    if (clamps(syclamp::scaling_preset(name))) continue;
    INFO(name);
    const framework_settings s{.init = 0x1p127, .interval = 1, .hysteresis = 1};
    CHECK(after(name, s, "...") == scales{0x1p127f, 0x1p127f, 0x1p127f});
    framework_settings factor = s;
    factor.growth = 1.5;
    CHECK(after(name, factor, "...").back() == 0x1.8p127f);
    // The bound of the user's comes after: what is not finite is not done at all.
    factor.growth = 2;
    factor.max = 0x1.4p127;
    CHECK(after(name, factor, "...").back() == 0x1p127f);
    factor.init = 0x1p126;
    factor.max = 0x1.8p126;
    CHECK(after(name, factor, "...").back() == 0x1.8p126f);
  }
  CHECK(after("oneflow", {.init = 0x1p127, .interval = 1}, ".i") == scales{FLT_MAX, FLT_MAX / 2});
  for (const char* name : {"apex", "mxnet", "onnxruntime"}) {
    INFO(name);
    CHECK(after(name, {.init = 0x1p23, .interval = 1}, "....").back() == 0x1p24f);
    CHECK(after(name, {.init = 0x1p127, .max = FLT_MAX, .interval = 1}, "....").back() == FLT_MAX);
  }
  CHECK(after("openseq2seq-backoff", {.init = 0x1p13, .interval = 1}, "..") == scales{0x1p14f, 0x1p14f});
  // Growth that is not done ends the interval all the same, and refills what it refills.
  CHECK(after("pytorch", {.init = 0x1p127, .interval = 2}, "...i..") ==
        scales{0x1p127f, 0x1p127f, 0x1p127f, 0x1p126f, 0x1p126f, 0x1p127f});
  CHECK(after("megatron", {.init = 0x1p127, .interval = 2}, "i..ii") ==
        scales{0x1p127f, 0x1p127f, 0x1p127f, 0x1p127f, 0x1p126f});
  CHECK(after("deepspeed", {.init = 0x1p127, .interval = 2}, "i...ii").back() == 0x1p126f);
  CHECK(after("tf1-contrib", {.init = 0x1p127, .backoff = 0.5, .interval = 2}, "i..ii") ==
        scales{0x1p127f, 0x1p127f, 0x1p127f, 0x1p127f, 0x1p126f});
}

TEST_CASE("ceilings at the start") {
  CHECK(make_framework("apex", {.init = 0x1p30})->step(gradient::clean).scale_before == 0x1p24f);
  CHECK(make_framework("apex", {.max = 128})->step(gradient::clean).scale_before == 128);
  CHECK(make_framework("openseq2seq-backoff", {.max = 0x1p20})->step(gradient::clean).scale_before == 0x1p20f);
  // MXNet's and ONNX Runtime's bite when the scale would grow; OpenSeq2Seq's and Chainer's whichever way it moves.
  CHECK(after("onnxruntime", {.init = 0x1p30, .interval = 2}, "i..") == scales{0x1p29f, 0x1p29f, 0x1p24f});
  CHECK(after("openseq2seq-backoff", {.init = 0x1p20}, ".i") == scales{0x1p20f, 0x1p14f});
  CHECK(after("chainer", {.init = 0x1p20}, "i") == scales{65504});
  CHECK(after("openseq2seq-backoff", {.init = 0x1p-5, .interval = 1}, ".") == scales{1});
}

TEST_CASE("MXNet's new scale waits for a step") {
  const auto model = make_framework("mxnet", {.init = 16, .interval = 2});
  const std::string trace = "i.....";
  const scales before{16, 16, 8, 8, 16, 16}, behind{16, 8, 8, 16, 16, 32};
  for (std::size_t i = 0; i < trace.size(); ++i) {
    INFO(i);
    const framework_step step = model->step(found_by(trace[i]));
    CHECK(step.scale_before == before[i]);
    CHECK(step.scale_after == behind[i]);
  }
  CHECK(after("mxnet", {.init = 16}, "ii..") == scales{16, 8, 4, 4});
}

TEST_CASE("Chainer doubles with every step until the first overflow, then creeps") {
  CHECK(after("chainer", {}, "...i") == scales{2, 4, 8, 4});
  CHECK(after("chainer", {}, clean(17)).back() == 65504);
  CHECK(after("chainer", {}, clean(17) + "i").back() == 32752);
  CHECK(after("chainer", {.interval = 1}, "..i..") == scales{2, 4, 2, 4, 8});
  const scales creeping = after("chainer", {.interval = 2}, "...i..");
  CHECK(creeping[4] == static_cast<float>(4 * std::sqrt(2.0)));
  CHECK(creeping[5] == 8);
  // Its state is a double: a thousand thousandth roots make a doubling, which they would not in FP32.
  CHECK(after("chainer", {}, "...i" + clean(1000)).back() == 8);
  const auto faster = make_framework("chainer");
  after(*faster, "...i");
  faster->set_interval(1);
  CHECK(after(*faster, ".") == scales{8});
}

TEST_CASE("fairseq backs off when overflows are the tolerated share of the steps since the scale moved") {
  // One of 4, two of 5, three of 6.
  CHECK(after("fairseq", {.init = 64, .tolerance = 0.5}, "...iii") == scales{64, 64, 64, 64, 64, 32});
  CHECK(after("fairseq", {.init = 64, .tolerance = 0.5}, "...iii.i") == scales{64, 64, 64, 64, 64, 32, 32, 16});
  CHECK(after("fairseq", {.init = 64, .tolerance = 0.5}, "...iii...i").back() == 32);  // one of 4 again
  CHECK(after("fairseq", {.init = 64, .tolerance = 0.5, .interval = 3}, "...i") == scales{64, 64, 128, 64});  // of 1
  CHECK(after("fairseq", {.init = 64, .tolerance = 0.51, .interval = 3}, "....i") ==
        scales{64, 64, 128, 128, 128});  // of 2
  // Growth does not forget overflows: two of 2.
  CHECK(after("fairseq", {.init = 64, .tolerance = 0.6, .interval = 3}, ".i....i") ==
        scales{64, 64, 64, 64, 128, 128, 64});
}

TEST_CASE("one multiplier divides, two factors multiply") {
  for (const std::string& name : with_one_multiplier) {
    INFO(name);
    CHECK(after(name, {.init = 64, .growth = 4, .hysteresis = 1}, "i.").back() == 16);
    CHECK(after(name, {.init = 64, .growth = 4, .backoff = 0.5, .hysteresis = 1}, "i.").back() == 32);
  }
  for (const std::string& name : with_two_factors) {
    INFO(name);
    CHECK(after(name, {.init = 640, .growth = 4, .hysteresis = 1}, "i.").back() ==
          640 * syclamp::scaling_preset(name).backoff_factor);
    CHECK(after(name, {.init = 64, .backoff = 0.25, .hysteresis = 1}, "i.").back() == 16);
  }
}

TEST_CASE("frameworks round as they do") {
  // 3 · 0.3: 0.9 in double, 0.90000004 in FP32.
  const framework_settings s{.init = 3, .growth = 1.7, .backoff = 0.3, .min = 0.01, .hysteresis = 1};
  for (const char* name : {"pytorch", "apex-hysteresis"}) {
    INFO(name);  // rounded to FP32 after each step
    CHECK(after(name, s, "ii") == scales{0x1.ccccccp-1f, 0x1.147ae0p-2f});
  }
  for (const char* name : {"apex", "deepspeed", "deepspeed-consecutive", "fairseq", "onnxruntime", "chainer"}) {
    INFO(name);  // the state is a double: 0.27 after two steps
    CHECK(after(name, s, "ii") == scales{0x1.ccccccp-1f, 0x1.147ae2p-2f});
  }
  CHECK(after("mxnet", s, "iii") == scales{3, 0x1.ccccccp-1f, 0x1.147ae2p-2f});
  for (const char* name :
       {"keras3", "keras2", "tf1", "tf1-contrib", "megatron", "jmp", "paddle", "mindspore", "openseq2seq-backoff"}) {
    INFO(name);
    CHECK(after(name, s, "i") == scales{0x1.cccccep-1f});
  }
  // 5 / 3: a division is not a multiplication by 0.33333334.
  for (const char* name : {"keras3", "keras2", "tf1", "jmp", "mindspore", "openseq2seq-backoff", "oneflow"}) {
    INFO(name);
    CHECK(after(name, {.init = 5, .growth = 3}, "i") == scales{0x1.aaaaaap+0f});
    CHECK(after(name, {.init = 5, .growth = 3, .backoff = 1.0 / 3.0}, "i") == scales{0x1.aaaaacp+0f});
  }
  // 3 · 1.1: OneFlow's multiplier is a float, which is seen though the product is a double's; PyTorch's is a double.
  CHECK(after("oneflow", {.init = 3, .growth = 1.1, .interval = 1}, ".") == scales{0x1.a66668p+1f});
  CHECK(after("pytorch", {.init = 3, .growth = 1.1, .interval = 1}, ".") == scales{0x1.a66666p+1f});
  CHECK(after("oneflow", {.init = 1, .growth = 1.1, .min = 0.1}, "i") == scales{0x1.d1745cp-1f});
  // 3 times this lies 2^-52 above the middle of two FP32: rounded to double it is the middle, and goes to the even one.
  for (const char* name : {"pytorch", "apex-hysteresis"}) {
    INFO(name);
    CHECK(after(name, {.init = 3, .growth = 0x1.199998aaaaaabp+0, .interval = 1}, ".") == scales{0x1.a66664p+1f});
  }
  // An initial scale and a floor are FP32, too, where the state is.
  CHECK(after("megatron", {.init = 0.4, .min = 0.3, .hysteresis = 1}, "i") == scales{0.3f});
}

TEST_CASE("OpenSeq2Seq's LogMax leaves room for 3.09 deviations") {
  const auto model = make_framework("openseq2seq-logmax");
  CHECK(model->step(gradient::clean, 0x1p6).scale_after == 0x1p10f);
  CHECK(model->step(gradient::clean, 0x1p6).scale_after == 0x1p10f);
  CHECK(model->step(gradient::clean, 0).scale_after == 0x1p10f);  // no amax: no change
  CHECK(make_framework("openseq2seq-logmax")->step(gradient::clean, 0x1p-4).scale_after == 0x1p14f);   // 2^20, clipped
  CHECK(make_framework("openseq2seq-logmax")->step(gradient::clean, 0x1p20).scale_after == 1);         // 2^-4
  CHECK(make_framework("openseq2seq-logmax", {.min = 0x1p-9})->step(gradient::inf).scale_after == 1);  // 2^(16 - 16)

  // log2: 2 and 4 with weights 0.99 : 1 for the mean, 0.999 : 1 for the deviation, which is sqrt(0.999) / 1.999 · 2.
  const auto two = make_framework("openseq2seq-logmax");
  two->step(gradient::clean, 4);
  const double cutoff = (0.99 * 2 + 4) / 1.99 + 3.09 * 2 * std::sqrt(0.999) / 1.999;
  CHECK_THAT(two->step(gradient::clean, 16).scale_after,
             Catch::Matchers::WithinRel(static_cast<float>(std::exp2(16 - cutoff)), 1e-6f));
  // An overflow counts as 2^16: 2 and 16.
  const auto bad = make_framework("openseq2seq-logmax", {.min = 0x1p-40});
  bad->step(gradient::clean, 4);
  const double bad_cutoff = (0.99 * 2 + 16) / 1.99 + 3.09 * 14 * std::sqrt(0.999) / 1.999;
  CHECK_THAT(bad->step(gradient::nan).scale_after,
             Catch::Matchers::WithinRel(static_cast<float>(std::exp2(16 - bad_cutoff)), 1e-6f));
}

TEST_CASE("no framework tells NaN from Inf, none leaves FP32's normal range, and each continues from its state") {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same traces every time
  for (const std::string& name : framework_names())
    for (const double init : {0x1p-126, 1.0, 65536.0, static_cast<double>(FLT_MAX)}) {
      INFO(name << " from " << init);
      const framework_settings s{.init = init, .growth = 3.7, .backoff = 0.21, .interval = 2};
      const auto infs = make_framework(name, s), nans = make_framework(name, s);
      float last = infs->step(gradient::clean, 1).scale_after;
      nans->step(gradient::clean, 1);
      bool good = true;
      for (int i = 0; i < 3000; ++i) {
        // Long rows of either kind, so that both ends are met.
        const bool bad = (i / 300) % 2 != 0 ? random() % 8 != 0 : random() % 8 == 0;
        const double amax = std::ldexp(1.0, static_cast<int>(random() % 40) - 20);
        const framework_step a = infs->step(bad ? gradient::inf : gradient::clean, amax);
        const framework_step b = nans->step(bad ? gradient::nan : gradient::clean, amax);
        good = good && a.scale_after == b.scale_after && a.scale_before == last && a.applied == !bad &&
               a.scale_after >= 0x1p-126f && a.scale_after <= FLT_MAX;
        last = a.scale_after;
      }
      CHECK(good);
    }
}
