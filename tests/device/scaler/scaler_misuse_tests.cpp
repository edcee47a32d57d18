// SPDX-License-Identifier: Apache-2.0
// Calls that would corrupt weights or the ledger: refused by name, and what an exception leaves behind.
#include <stdexcept>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

auto says(const char* text) { return MessageMatches(ContainsSubstring(text)); }

/// An optimizer of somebody else, whose step fails before it has submitted anything.
class failing_optimizer final : public optimizer {
 public:
  failing_optimizer(const engine& engine, std::size_t elements, float* gradients)
      : works_(engine, elements, gradients) {}

  const tensor_list& gradients() const override { return works_.gradients(); }
  sycl::event apply(const step_inputs& inputs) override {
    if (fails) throw std::runtime_error("the optimizer has no memory left");
    return works_.apply(inputs);
  }
  float weight() const { return works_.weight(); }

  bool fails = false;

 private:
  adding_optimizer works_;
};

}  // namespace

TEST_CASE("lists of different queues do not go into one operation", "[misuse]") {
  const engine& engine = all_engines().front();
  const sycl::device device = engine.queue().get_device();
  const bool is_context_shared = GENERATE(true, false);
  CAPTURE(is_context_shared);
  const sycl::property_list in_order{sycl::property::queue::in_order{}};
  const syclamp::engine elsewhere(is_context_shared ? sycl::queue(engine.queue().get_context(), device, in_order)
                                                    : sycl::queue(sycl::context(device), device, in_order));
  training code(engine);
  training other(elsewhere);
  const tensor_list& foreign = other.optimizer.gradients();
  const device_buffer<float> memory(engine.queue(), std::vector<float>(training::elements, 0.0f));
  const tensor_list own(engine, array_view(memory.data(), training::elements));
  loss_scaler& scaler = code.scaler;

  scaler.begin_step();
  CHECK_THROWS_MATCHES(scaler.accumulate(own, foreign), invalid_argument, says("different queues"));
  const spike_guard guard(elsewhere);
  CHECK_THROWS_MATCHES(guard.check({scaler.get_engine(), scaler.device_scale()}, scaler), invalid_argument,
                       says("another queue"));

  // Nothing of it has reached the scaler, and another engine on the same queue is as good.
  const syclamp::engine same_queue(engine.queue());
  adding_optimizer mine(same_queue, training::elements, code.gradients.data());
  code.backward(1.0f, 65536.0f);
  scaler.step(mine);
  scaler.update();
  CHECK(scaler.outcome().lists == 1);
  CHECK(mine.weight() == 1.0f);
}

TEST_CASE("sums of an accumulation window are applied by step_accumulated and by nothing else", "[misuse]") {
  const engine& engine = all_engines().front();
  loss_scaler scaler(engine, {.init_scale = 4});
  const device_buffer<float> micro(engine.queue(), std::vector<float>(8, 8.0f)),
      sums(engine.queue(), std::vector<float>(8, 0.0f));
  adding_optimizer optimizer(engine, 8, sums.data());
  const tensor_list gradients(engine, array_view(micro.data(), 8));
  const tensor_list same_memory(engine, array_view(sums.data(), 8));
  const tensor_list& target = GENERATE(false, true) ? same_memory : optimizer.gradients();
  scaler.begin_step();
  scaler.accumulate(gradients, target);
  const bool updates = GENERATE(false, true);
  CAPTURE(updates, &target == &same_memory);
  if (updates) {
    scaler.update();
    scaler.begin_step();
  }
  CHECK_THROWS_MATCHES(scaler.step(optimizer), misuse_error, says("step_accumulated"));
  CHECK_THROWS_MATCHES(scaler.step(std::vector<syclamp::optimizer*>{&optimizer}), misuse_error,
                       says("step_accumulated"));
  CHECK_THROWS_MATCHES(scaler.unscale(optimizer), misuse_error, says("step_accumulated"));
  CHECK_THROWS_MATCHES(scaler.inspect(optimizer.gradients()), misuse_error, says("step_accumulated"));
  CHECK_THROWS_MATCHES(scaler.accumulate(optimizer.gradients(), gradients), misuse_error, says("step_accumulated"));
  scaler.accumulate(gradients, target);
  scaler.step_accumulated(optimizer);
  scaler.update();
  CHECK(scaler.outcome().was_applied());
  CHECK(optimizer.weight() == 2.0f);

  // The window is closed: the same memory may hold scaled gradients again.
  engine.queue().fill(sums.data(), 4.0f, 8).wait();
  scaler.begin_step();
  scaler.step(optimizer);
  scaler.update();
  CHECK(optimizer.weight() == 3.0f);
}

TEST_CASE("gradients cannot be their own sum", "[misuse]") {
  const engine& engine = all_engines().front();
  loss_scaler scaler(engine, {.init_scale = 4});
  const device_buffer<float> memory(engine.queue(), std::vector<float>(8, 8.0f));
  const tensor_list gradients(engine, array_view(memory.data(), 8)), again(engine, array_view(memory.data(), 8));
  scaler.begin_step();
  CHECK_THROWS_MATCHES(scaler.accumulate(gradients, gradients), invalid_argument, says("same memory"));
  CHECK_THROWS_MATCHES(scaler.accumulate(gradients, again), invalid_argument, says("same memory"));
  CHECK_NOTHROW(scaler.inspect(gradients));
}

TEST_CASE("loading a state closes an accumulation window", "[misuse]") {
  const engine& engine = all_engines().front();
  loss_scaler scaler(engine, {.init_scale = 4});
  const device_buffer<float> micro(engine.queue(), {8.0f}), sums(engine.queue(), {4.0f});
  adding_optimizer optimizer(engine, 1, sums.data());
  const scaler_snapshot before = scaler.state();
  scaler.begin_step();
  scaler.accumulate(tensor_list(engine, array_view(micro.data(), 1)), optimizer.gradients());
  scaler.load(before);
  scaler.begin_step();
  CHECK_NOTHROW(scaler.step(optimizer));
}

TEST_CASE("a step whose optimizer throws is not recorded as applied, and the next one is", "[misuse]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto mode = GENERATE(scaling_mode::dynamic, scaling_mode::disabled);
  const bool unscales = GENERATE(false, true);
  CAPTURE(mode == scaling_mode::disabled, unscales);
  const bool is_enabled = mode != scaling_mode::disabled;
  loss_scaler scaler(engine, {.mode = mode, .init_scale = 4, .growth_interval = 2});
  const device_buffer<float> memory(engine.queue(), std::vector<float>(10, 4.0f));
  failing_optimizer optimizer(engine, 10, memory.data());
  const auto step = [&] {
    scaler.begin_step();
    engine.queue().fill(memory.data(), scaler.get_scale(), 10).wait();
    if (unscales) scaler.unscale(optimizer);
    scaler.step(optimizer);
  };
  optimizer.fails = true;
  CHECK_THROWS_AS(step(), std::runtime_error);
  CHECK_THROWS_MATCHES(scaler.step(optimizer), misuse_error, says("call update() first"));
  scaler.update();
  const step_record record = scaler.outcome();
  CHECK(record.outcome == step_outcome::skipped_by_user);
  CHECK(record.lists == 1);
  CHECK(record.skipped_lists == 1);
  CHECK(record.applied == 0);
  CHECK(record.skipped == 1);
  CHECK(record.flags == found_nothing);
  CHECK(record.next_scale == record.scale);

  optimizer.fails = false;
  for (int i = 1; i <= 2; ++i) {
    step();
    scaler.update();
    CHECK(scaler.outcome().was_applied());
    CHECK(scaler.outcome().applied == static_cast<std::uint64_t>(i));
  }
  CHECK(scaler.outcome().next_scale == (is_enabled ? 8.0f : 1.0f));  // the failed step was no clean one
  CHECK(optimizer.weight() == 2.0f);
}

TEST_CASE("an overflow stays an overflow if the optimizer throws, and a flag that comes later is kept", "[misuse]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  loss_scaler scaler(engine, {.init_scale = 4});
  const device_buffer<float> memory(engine.queue(), {infinity});
  failing_optimizer optimizer(engine, 1, memory.data());
  optimizer.fails = true;
  scaler.begin_step();
  CHECK_THROWS_AS(scaler.step(optimizer), std::runtime_error);
  scaler.update();
  CHECK(scaler.outcome().outcome == step_outcome::skipped_inf);
  CHECK(scaler.outcome().next_scale == 2.0f);

  engine.queue().fill(memory.data(), 2.0f, 1).wait();
  scaler.begin_step();
  CHECK_THROWS_AS(scaler.step(optimizer), std::runtime_error);
  const std::uint32_t flag = found_by_user;
  engine.queue().memcpy(scaler.device_user_flags(), &flag, sizeof flag).wait();
  scaler.update();
  CHECK(scaler.outcome().outcome == step_outcome::skipped_by_user);
  optimizer.fails = false;
  for (const step_outcome expected : {step_outcome::skipped_by_user, step_outcome::applied}) {
    scaler.begin_step();
    scaler.step(optimizer);
    scaler.update();
    CHECK(scaler.outcome().outcome == expected);
  }
}

TEST_CASE("a joint step in which one optimizer throws is not recorded as applied", "[misuse]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 4});
  const device_buffer<float> second(engine.queue(), std::vector<float>(10, 4.0f)),
      third(engine.queue(), std::vector<float>(10, 4.0f));
  failing_optimizer fails(engine, 10, second.data());
  adding_optimizer last(engine, 10, third.data());
  const std::vector<optimizer*> all{&code.optimizer, &fails, &last};
  fails.fails = true;
  code.scaler.begin_step();
  code.backward(1.0f, 4.0f);
  CHECK_THROWS_AS(code.scaler.step(all), std::runtime_error);
  code.scaler.update();
  const step_record record = code.scaler.outcome();
  CHECK_FALSE(record.was_applied());
  CHECK(record.lists == 3);
  CHECK(record.skipped_lists == 2);  // the one that threw, and the one after it
  CHECK(record.applied == 0);
  CHECK(last.weight() == 0.0f);

  fails.fails = false;
  code.scaler.begin_step();
  code.scaler.step(all);
  code.scaler.update();
  CHECK(code.scaler.outcome().was_applied());
  CHECK(last.weight() == 1.0f);
}

TEST_CASE("the sums of a window are not recorded as applied, either, if the optimizer throws", "[misuse]") {
  const engine& engine = all_engines().front();
  loss_scaler scaler(engine, {.init_scale = 4});
  const device_buffer<float> micro(engine.queue(), {8.0f}), sums(engine.queue(), {0.0f});
  failing_optimizer optimizer(engine, 1, sums.data());
  optimizer.fails = true;
  scaler.begin_step();
  scaler.accumulate(tensor_list(engine, array_view(micro.data(), 1)), optimizer.gradients());
  CHECK_THROWS_AS(scaler.step_accumulated(optimizer), std::runtime_error);
  scaler.update();
  CHECK_FALSE(scaler.outcome().was_applied());
  CHECK(optimizer.weight() == 0.0f);
}

TEST_CASE("handles that were moved from are as good as before", "[misuse]") {
  const engine& given = all_engines().front();
  engine engine = given;
  const syclamp::engine other_engine = std::move(engine);
  const device_buffer<float> memory(given.queue(), std::vector<float>(4, 2.0f));
  // NOLINTBEGIN(bugprone-use-after-move): that is the test
  CHECK(engine.queue() == given.queue());
  tensor_list list(engine, array_view(memory.data(), 4));
  const tensor_list other_list = std::move(list);
  CHECK(list.size() == 1);
  inspector inspect(list);
  const inspector other_inspector = std::move(inspect);
  inspect.run();
  CHECK(inspect.result().sum_of_squares == 16.0f);
  loss_scaler scaler(engine, {.init_scale = 2});
  const loss_scaler other_scaler = std::move(scaler);
  scaler.begin_step();
  unscaled_gradients unscaled = scaler.unscale(list);
  const unscaled_gradients other_unscaled = std::move(unscaled);
  CHECK(unscaled.list().size() == 1);
  CHECK_NOTHROW(unscaled.done().get_info<sycl::info::event::command_execution_status>());
  scaler.update();
  CHECK(scaler.outcome().norm == 2.0f);
  spike_guard guard(engine);
  const spike_guard other_guard = std::move(guard);
  CHECK_NOTHROW(guard.check({scaler.get_engine(), scaler.device_scale()}, scaler));
  const device_buffer<std::uint8_t> bytes(given.queue(), std::vector<std::uint8_t>(4));
  delayed_scaling scaling(tensor_list(engine, array_view(bytes.data(), 4, element_type::float8_e4m3)));
  const delayed_scaling other_scaling = std::move(scaling);
  CHECK(scaling.size() == 1);
  CHECK_THROWS_MATCHES(scaling.limit(1), invalid_argument, says("tensor 1"));
  recorded_step step(engine, [] {}, recording::never);
  recorded_step other_step = std::move(step);
  CHECK_NOTHROW(other_step());
  CHECK_THROWS_MATCHES(step(), misuse_error, says("moved"));
  CHECK_THROWS_MATCHES(step.is_recorded(), misuse_error, says("moved"));
  // NOLINTEND(bugprone-use-after-move)
  given.wait();
}

TEST_CASE("an index beyond the end of a list is refused with its size", "[misuse]") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), {1.0f});
  const tensor_list list(engine, array_view(memory.data(), 1));
  CHECK_THROWS_MATCHES(list[5], invalid_argument, says("tensor 5") && says("has 1 tensors"));
  CHECK_THROWS_MATCHES(list.name(5), invalid_argument, says("tensor 5") && says("has 1 tensors"));
  CHECK_THROWS_MATCHES(list.group(1), invalid_argument, says("tensor 1") && says("has 1 tensors"));
}
