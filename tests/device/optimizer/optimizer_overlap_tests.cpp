// SPDX-License-Identifier: Apache-2.0
// Memory that a step would corrupt, because two of its tensors lie in the same place.
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/training.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr std::uint64_t count = 16;

/// Memory for a few tensors of FP32, one after the other.
struct rows {
  explicit rows(const engine& engine) : memory(engine.queue(), std::vector<float>(20 * count, 1.0f)) {}
  float* at(std::uint64_t row, std::uint64_t offset = 0) const { return memory.data() + row * count + offset; }
  array_view fp32(std::uint64_t row, std::uint64_t offset = 0) const { return {at(row, offset), count}; }
  array_view fp16(std::uint64_t row) const { return {at(row), count, element_type::float16}; }
  array_view bf16(std::uint64_t row) const { return {at(row), count, element_type::bfloat16}; }
  device_buffer<float> memory;
};

void refused(const engine& engine, const std::vector<parameter>& parameters, const char* first, const char* second,
             const storage_options& storage = {}) {
  INFO(first << " and " << second);
  CHECK_THROWS_MATCHES(
      fused_optimizer(engine, parameters, adamw{}, storage), invalid_argument,
      MessageMatches(ContainsSubstring("overlap") && ContainsSubstring(first) && ContainsSubstring(second)));
}

}  // namespace

TEST_CASE("an optimizer refuses tensors that overlap what it writes, and names both", "[optimizers]") {
  const engine& engine = all_engines().front();
  const rows in(engine);
  // Moments of the user on the weights, on another moment, on a copy, on a gradient; of the same parameter or not.
  refused(engine, {{.gradient = in.fp32(0), .model = in.fp32(1), .states = {in.at(1)}, .name = "w"}},
          "moment 0 of tensor 0 (\"w\")", "weights of tensor 0 (\"w\")");
  refused(engine, {{.gradient = in.fp32(0), .model = in.fp32(1), .states = {in.at(2), in.at(2)}, .name = "w"}},
          "moment 0 of tensor 0", "moment 1 of tensor 0");
  refused(engine, {{.gradient = in.fp32(0), .model = in.fp32(1), .states = {in.at(2), in.at(2, 15)}, .name = "w"}},
          "moment 0 of tensor 0", "moment 1 of tensor 0");
  refused(engine,
          {{.gradient = in.fp32(0), .model = in.fp32(1), .states = {in.at(5)}, .name = "a"},
           {.gradient = in.fp32(2), .model = in.fp32(3), .states = {in.at(4), in.at(5, 3)}, .name = "b"}},
          "moment 0 of tensor 0 (\"a\")", "moment 1 of tensor 1 (\"b\")");
  refused(engine,
          {{.gradient = in.fp32(0), .model = in.fp32(1), .name = "a"},
           {.gradient = in.fp32(2), .model = in.fp32(3), .states = {nullptr, in.at(1, 5)}, .name = "b"}},
          "moment 1 of tensor 1 (\"b\")", "weights of tensor 0 (\"a\")");
  refused(engine, {{.gradient = in.fp16(0), .model = in.fp16(1), .states = {in.at(1)}}}, "moment 0 of tensor 0",
          "copy of the weights of tensor 0");
  refused(engine, {{.gradient = in.fp32(0), .model = in.fp32(1), .states = {in.at(0)}}}, "moment 0 of tensor 0",
          "gradient of tensor 0");
  // Gradients on weights, exactly or nearly, of FP32, of 16 bits, of another parameter.
  refused(engine, {{.gradient = in.fp32(0), .model = in.fp32(0), .name = "w"}}, "gradient of tensor 0 (\"w\")",
          "weights of tensor 0 (\"w\")");
  refused(engine, {{.gradient = in.fp32(0, 15), .model = in.fp32(0)}}, "gradient of tensor 0", "weights of tensor 0");
  refused(engine, {{.gradient = in.fp16(0), .model = in.fp16(0)}}, "gradient of tensor 0",
          "copy of the weights of tensor 0");
  refused(engine, {{.gradient = in.fp32(0), .master = in.fp32(0)}}, "gradient of tensor 0", "weights of tensor 0");
  refused(engine,
          {{.gradient = in.fp32(0), .model = in.fp32(1), .name = "a"},
           {.gradient = in.fp32(1), .model = in.fp32(2), .name = "b"}},
          "gradient of tensor 1 (\"b\")", "weights of tensor 0 (\"a\")");
  // Weights on weights; a copy that is not the master.
  refused(engine, {{.gradient = in.fp32(0), .model = in.fp32(2)}, {.gradient = in.fp32(1), .model = in.fp32(2)}},
          "weights of tensor 0", "weights of tensor 1");
  refused(engine, {{.gradient = in.fp16(0), .model = in.fp16(1), .master = in.fp32(1)}}, "weights of tensor 0",
          "copy of the weights of tensor 0");
  refused(engine, {{.gradient = in.bf16(0), .model = in.bf16(1), .states = {in.at(1)}}}, "moment 0 of tensor 0",
          "weights of tensor 0", {.remainders = true});
  // An absent gradient hides nothing.
  refused(engine,
          {{.gradient = {nullptr, count, element_type::float32}, .model = in.fp32(1)},
           {.gradient = {nullptr, count, element_type::float32}, .model = in.fp32(1)}},
          "weights of tensor 0", "weights of tensor 1");
}

TEST_CASE("what may share memory may still", "[optimizers]") {
  const engine& engine = all_engines().front();
  const rows in(engine);
  // The model is its own master; two parameters may have one gradient; no elements, no overlap.
  CHECK_NOTHROW(
      fused_optimizer(engine, {{.gradient = in.fp32(0), .model = in.fp32(1), .master = in.fp32(1)}}, adamw{}));
  CHECK_NOTHROW(fused_optimizer(
      engine, {{.gradient = in.fp32(0), .model = in.fp32(1)}, {.gradient = in.fp32(0), .model = in.fp32(2)}}, adamw{}));
  CHECK_NOTHROW(fused_optimizer(engine,
                                {{.gradient = {in.at(1), 0}, .model = {in.at(1), 0}, .states = {in.at(1), in.at(1)}},
                                 {.gradient = in.fp32(0), .model = in.fp32(1), .states = {in.at(2), in.at(3)}}},
                                adamw{}));
  // Moments that an optimizer does not have are not looked at.
  CHECK_NOTHROW(fused_optimizer(engine, {{.gradient = in.fp32(0), .model = in.fp32(1), .states = {in.at(1)}}}, sgd{}));
}

TEST_CASE("a gradient that moves onto what a step writes is refused by the step", "[optimizers]") {
  const engine& engine = all_engines().front();
  const rows in(engine);
  fused_optimizer optimizer(engine,
                            {{.gradient = in.fp32(0), .model = in.fp32(1), .name = "a"},
                             {.gradient = in.fp32(2), .model = in.fp32(3), .states = {in.at(4)}, .name = "b"}},
                            adamw{});
  tensor_list gradients = optimizer.gradients();
  const auto moved = [&](void* to, const char* subject) {
    CAPTURE(subject);
    gradients.set_address(0, to);
    CHECK_THROWS_MATCHES(optimizer.apply(), invalid_argument,
                         MessageMatches(ContainsSubstring("gradient of tensor 0 (\"a\")") &&
                                        ContainsSubstring("overlap") && ContainsSubstring(subject)));
    gradients.set_address(0, in.at(5));
    CHECK_NOTHROW(optimizer.apply());
  };
  moved(in.at(1), "weights of tensor 0 (\"a\")");
  moved(in.at(3, 7), "weights of tensor 1 (\"b\")");
  moved(in.at(4), "moment 0 of tensor 1 (\"b\")");
  moved(optimizer.state(1, 1).data(), "moment 1 of tensor 1 (\"b\")");
  moved(optimizer.state(0, 0).data(), "moment 0 of tensor 0 (\"a\")");
  // Other lists that are given to the step are looked at, too.
  const device_decision decision(engine, {1, 1.0f, 1.0f, 1.0f});
  const tensor_list others(engine, {{.data = in.fp32(1), .name = "x"}, {.data = in.fp32(6), .name = "y"}});
  CHECK_THROWS_MATCHES(
      optimizer.apply(step_inputs{others, decision, false}), invalid_argument,
      MessageMatches(ContainsSubstring("gradient of tensor 0 (\"x\")") && ContainsSubstring("weights of tensor 0")));
  engine.wait();
}

TEST_CASE("a gradient that moves onto the weights is neither unscaled there nor cleared", "[optimizers]") {
  const engine& engine = all_engines().front();
  const rows in(engine);
  fused_optimizer optimizer(engine, {{.gradient = in.fp32(0), .model = in.fp32(1)}}, sgd{});
  tensor_list gradients = optimizer.gradients();
  gradients.set_address(0, in.at(1));
  loss_scaler scaler(engine, {.init_scale = 2, .clear_on_skip = true});
  scaler.begin_step();
  CHECK_THROWS_AS(scaler.unscale(optimizer), invalid_argument);
  CHECK_THROWS_AS(scaler.step(optimizer), invalid_argument);
  scaler.update();
  CHECK_FALSE(scaler.outcome().was_applied());
  CHECK(optimizer.weights(0) == std::vector<float>(count, 1.0f));
}

TEST_CASE("a gradient that moves onto the shadow of another is refused", "[optimizers]") {
  const engine& engine = all_engines().front();
  const rows in(engine);
  fused_optimizer optimizer(engine,
                            {{.gradient = in.fp16(0), .model = in.fp16(1), .name = "a"},
                             {.gradient = in.fp16(2), .model = in.fp16(3), .name = "b"}},
                            adamw{}, {.unscaled_shadow = true});
  tensor_list gradients = optimizer.gradients();
  gradients.set_address(0, optimizer.unscaled_gradients().writable(1).data());
  CHECK_THROWS_MATCHES(optimizer.apply(), invalid_argument,
                       MessageMatches(ContainsSubstring("gradient of tensor 0 (\"a\")") &&
                                      ContainsSubstring("unscaled gradient of tensor 1 (\"b\")")));
  gradients.set_address(0, in.at(0));
  CHECK_NOTHROW(optimizer.apply());
  engine.wait();
}

TEST_CASE("the shadow of FP32 gradients follows their new addresses", "[optimizers]") {
  const engine& engine = all_engines().front();
  const rows in(engine);
  fused_optimizer optimizer(engine,
                            {{.gradient = in.fp16(0), .model = in.fp16(1), .name = "a"},
                             {.gradient = in.fp32(2), .model = in.fp32(3), .name = "b"}},
                            sgd{.lr = 1}, {.unscaled_shadow = true});
  engine.queue().fill(reinterpret_cast<std::uint16_t*>(in.at(0)), std::uint16_t{0x3c00}, count);
  engine.queue().fill(in.at(3), 0.0f, count);
  engine.queue().fill(in.at(6), 8.0f, count).wait();
  tensor_list gradients = optimizer.gradients();
  gradients.set_address(1, in.at(6));
  loss_scaler scaler(engine, {.init_scale = 2});
  scaler.begin_step();
  scaler.unscale(optimizer);
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.weights(1)[0] == -4.0f);
  CHECK(in.memory.read()[2 * count] == 1.0f);  // where the gradient was before
}
