// SPDX-License-Identifier: Apache-2.0
// The snippets of the pages on loss scaling (scaling.md, parallel-training.md, policies.md, ledger.md and
// fp16-for-reinforcement-learning.md), and what the pages say about them. tests/lint/pages.py checks that every snippet
// stands here or in state_page_tests.cpp.
#include <cmath>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

const engine& page_engine() { return all_engines().front(); }

/// Memory, gradients and an optimizer for the snippets.
struct page {
  void backward() { content(1.0f); }
  void content(float value) {
    const std::vector<float> all(training::elements, value);
    page_engine().queue().memcpy(gradient_memory.data(), all.data(), all.size() * sizeof(float)).wait();
  }

  device_buffer<float> loss_memory{page_engine().queue(), {3.0f}},
      gradient_memory{page_engine().queue(), std::vector<float>(100, 0.0f)};
  tensor_list loss{page_engine(), array_view(loss_memory.data(), 1)};
  adding_optimizer optimizer{page_engine(), training::elements, gradient_memory.data()};
};

}  // namespace

TEST_CASE("page: a training loop") {
  page code;
  const engine& engine = page_engine();
  tensor_list& loss = code.loss;
  adding_optimizer& optimizer = code.optimizer;
  const auto backward = [&] { code.backward(); };
  const int steps = 3;

  loss_scaler scaler(engine);  // or loss_scaler(engine, scaling_preset("pytorch"))
  for (int i = 0; i < steps; ++i) {
    scaler.scale(loss);      // loss · S, in place
    backward();              // yours: leaves scaled gradients
    scaler.step(optimizer);  // checks the gradients; applies all of them, unscaled, or none
    scaler.update();         // moves the scale
  }

  CHECK(code.optimizer.weight() == 3.0f / 65536.0f);
}

TEST_CASE("page: static, checked and disabled") {
  const scaling_policy constant{.mode = scaling_mode::fixed, .init_scale = 1024};
  const scaling_policy only_checked{.mode = scaling_mode::fixed, .init_scale = 1};
  const scaling_policy off{.mode = scaling_mode::disabled};

  training fixed(page_engine(), constant);
  CHECK(fixed.step(1.0f, infinity).outcome == step_outcome::skipped_inf);
  CHECK(fixed.scaler.get_scale() == 1024.0f);
  training checked(page_engine(), only_checked);
  CHECK_FALSE(checked.step(1.0f, no_number).was_applied());
  training disabled(page_engine(), off);
  CHECK(disabled.step(1.0f, no_number).was_applied());
}

TEST_CASE("page: clipping") {
  page code;
  loss_scaler scaler(page_engine(), {.init_scale = 2});
  adding_optimizer& optimizer = code.optimizer;
  SECTION("by the norm") {
    scaler.scale(code.loss);
    code.backward();
    scaler.step(optimizer, {.max_norm = 1.0f});
    scaler.update();
    CHECK(scaler.outcome().norm == 5.0f);  // 100 gradients of 1/2
    CHECK(scaler.outcome().clip == 1.0f / (5.0f + 1e-6f));
  }
  SECTION("by hand") {
    scaler.scale(code.loss);
    code.backward();
    const unscaled_gradients gradients = scaler.unscale(optimizer);
    clip_by_value(gradients, 0.25f);  // or any other change
    scaler.step(optimizer);
    scaler.update();
    CHECK(code.optimizer.weight() == 0.25f);
  }
}

TEST_CASE("page: an accumulation window") {
  page code;
  loss_scaler scaler(page_engine(), {.init_scale = 1});
  const tensor_list& loss = code.loss;
  adding_optimizer& optimizer = code.optimizer;
  const device_buffer<float> micro(page_engine().queue(), std::vector<float>(training::elements, 0.0f));
  const tensor_list gradients(page_engine(), array_view(micro.data(), training::elements));
  const auto backward = [&](int batch) {
    const std::vector<float> all(training::elements, batch == 1 ? infinity : static_cast<float>(1 + batch));
    page_engine().queue().memcpy(micro.data(), all.data(), all.size() * sizeof(float)).wait();
  };
  const int micro_batches = 3;

  for (int i = 0; i < micro_batches; ++i) {
    scaler.scale(loss);
    backward(i);
    scaler.accumulate(gradients, optimizer.gradients());  // sums += gradients / S, unless one is Inf or NaN
    scaler.update();                                      // optional: without it the scale stays
  }
  scaler.step_accumulated(optimizer);  // applies the mean of the micro-batches that were not dropped
  scaler.update();
  clear_gradients(optimizer.gradients());

  CHECK(code.optimizer.weight() == 3.5f);  // (1/1 + 3/0.5) / 2: after the bad one the scale was 1/2
  CHECK(scaler.outcome().applied == 1);
  CHECK(scaler.get_scale() == 0.5f);
}

TEST_CASE("page: several optimizers") {
  page code;
  loss_scaler scaler(page_engine());
  const device_buffer<float> others(page_engine().queue(), std::vector<float>(10, 4.0f));
  adding_optimizer generator(page_engine(), 10, others.data());
  adding_optimizer& critic = code.optimizer;
  SECTION("each by itself") {
    scaler.scale(code.loss);
    code.content(infinity);
    scaler.step(generator);
    scaler.step(critic);  // may be skipped although the generator's step is applied
    scaler.update();      // lowers the scale if any of them overflowed

    CHECK(generator.weight() != 0.0f);
    CHECK(scaler.get_scale() == 32768.0f);
  }
  SECTION("together") {
    scaler.scale(code.loss);
    code.content(infinity);
    optimizer* const both[] = {&generator, &critic};
    scaler.step(both);  // both apply their gradients, or none does
    scaler.update();

    CHECK(generator.weight() == 0.0f);
  }
}

TEST_CASE("page: a scale for each group") {
  const device_buffer<float> memory(page_engine().queue(), {1.0f, infinity});
  const engine& engine = page_engine();
  float* const body = memory.data();
  float* const head = memory.data() + 1;

  loss_scaler scaler(engine, {}, {.scales = 2, .skip_together = false});
  const tensor_list gradients(engine, {{.data = body, .count = 1, .name = "body", .group = 0},
                                       {.data = head, .count = 1, .name = "head", .group = 1}});

  scaler.begin_step();
  scaler.inspect(gradients);
  scaler.update();
  CHECK(scaler.get_scale(0) == 65536.0f);
  CHECK(scaler.get_scale(1) == 32768.0f);
}

TEST_CASE("page: several ranks") {
  const engine& engine = page_engine();
  const device_buffer<float> memory(engine.queue(), {3.0f, 4.0f, 12.0f, 0.0f});
  float* const part = memory.data();
  float* const same = memory.data() + 2;
  const std::uint32_t rank = 1, ranks = 2;
  // The other rank holds the same numbers, and adds the tensor that is replicated.
  const auto all_reduce = [](sycl::queue& queue, float* numbers, std::size_t count) {
    std::vector<float> sums(count);
    queue.memcpy(sums.data(), numbers, count * sizeof(float)).wait();
    for (float& sum : sums) sum += sum;
    for (float& sum : sums) sum += sum == 50.0f ? 144.0f : 0.0f;
    queue.memcpy(numbers, sums.data(), count * sizeof(float)).wait();
  };

  const auto add_up = [&](sycl::queue& queue, float* numbers, std::size_t count) { all_reduce(queue, numbers, count); };
  loss_scaler scaler(engine, {}, {.consensus = {.sum = add_up, .rank = rank, .size = ranks}});
  const tensor_list gradients(engine, {{.data = part, .count = 2, .name = "part of this rank"},
                                       {.data = same, .count = 2, .name = "same on all ranks", .replicated = true}});

  scaler.begin_step();
  scaler.inspect(gradients);
  scaler.update();
  CHECK(scaler.outcome().norm == std::sqrt(25.0f + 25.0f + 144.0f) / 65536.0f);
}

TEST_CASE("page: giving up, and NaN that stays") {
  const scaling_policy careful{
      .give_up_after = 50, .on_give_up = give_up_action::stop, .on_floor = give_up_action::hold};

  training code(page_engine(), careful);
  step_record last;
  for (int i = 0; i < 50; ++i) {
    last = code.step(1.0f, infinity);
    if (i == 35) CHECK(last.status == step_status::at_floor);  // 2^16 to 2^-14 are 30 steps
  }
  CHECK(last.status == step_status::too_many_skips);
  CHECK(last.next_scale == 0x1p-14f);
  CHECK(code.step(1.0f).outcome == step_outcome::stopped);
  code.scaler.resume();
  CHECK(code.step(1.0f).was_applied());

  training with_nan(page_engine());
  for (int i = 0; i < 16; ++i) CHECK(with_nan.step(1.0f, no_number).outcome == step_outcome::skipped_nan);
  const step_record held = with_nan.step(1.0f, no_number);
  CHECK(held.outcome == step_outcome::skipped_scale_held);
  CHECK(held.status == step_status::nan_persistent);
  CHECK(held.next_scale == 1.0f);
}

TEST_CASE("page: the same batch again") {
  page code;
  loss_scaler scaler(page_engine(), {.retries = 2});
  adding_optimizer& optimizer = code.optimizer;
  const tensor_list& loss = code.loss;
  int passes = 0;
  const auto forward = [] {};
  const auto backward = [&] { code.content(++passes < 3 ? infinity : 1.0f); };

  do {
    forward();
    scaler.scale(loss);
    backward();
    scaler.step(optimizer);
    scaler.update();
  } while (scaler.outcome().retry != 0);  // waits for the device

  CHECK(passes == 3);
  CHECK(scaler.outcome().was_applied());
}

TEST_CASE("page: reinforcement learning") {
  page code;
  const engine& engine = page_engine();
  adding_optimizer& optimizer = code.optimizer;
  const tensor_list& loss = code.loss;
  const int batches = 3;
  int rollouts = 0, passes = 0;
  const auto generate = [&](int) { ++rollouts; };
  const auto forward = [&] { ++passes; };
  const auto backward = [&] { code.content(passes == 2 || passes == 3 ? infinity : 1.0f); };

  scaling_policy policy;
  policy.growth_interval = 400;  // these runs have few optimizer steps
  policy.retries = 4;            // repeat a skipped update; a rollout is too expensive to lose
  loss_scaler scaler(engine, policy);
  for (int batch = 0; batch < batches; ++batch) {
    generate(batch);  // the rollout, with the FP16 weights that the optimizer wrote
    do {
      forward();
      scaler.scale(loss);
      backward();
      scaler.step(optimizer, {.max_norm = 1.0f});
      scaler.update();
    } while (scaler.outcome().retry != 0);  // waits for the device
  }

  CHECK(rollouts == 3);
  CHECK(passes == 5);
  CHECK(scaler.outcome().applied == 3);
  CHECK(scaler.get_scale() == 16384.0f);  // half the scale for each retry
}

TEST_CASE("page: spikes") {
  const engine& engine = page_engine();
  training code(engine, {.spike_threshold = 6});
  loss_scaler& scaler = code.scaler;
  const device_scalar value(engine, 2.0f);
  const float* loss_value = value;

  spike_guard guard(engine, {.threshold = 6, .window = 128});
  guard.check({engine, loss_value}, scaler);  // before scaler.step

  CHECK(code.step(1.0f).was_applied());
}

TEST_CASE("page: the ledger") {
  page code;
  loss_scaler scaler(page_engine());
  std::string log;
  const auto print = [&](const std::string& line) { log += line + '\n'; };

  scaler.on_step([&](const ledger_entry& entry) {
    if (!entry.record.was_applied())
      print("step " + std::to_string(entry.record.step) + ": " + to_string(entry.record.outcome) + " in " +
            entry.first_nonfinite_name);
  });

  for (const float value : {1.0f, infinity, 1.0f}) {
    scaler.scale(code.loss);
    code.content(value);
    scaler.step(code.optimizer);
    scaler.update();
  }
  page_engine().wait();
  scaler.report();
  CHECK(log == "step 2: skipped_inf in weight\n");
}

TEST_CASE("page: what the calls out of order say") {
  page code;
  loss_scaler scaler(page_engine());
  adding_optimizer& optimizer = code.optimizer;
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const misuse_error& refused) {
      return refused.what();
    }
    return "";
  };
  const auto contains = [](const char* text) { return Catch::Matchers::ContainsSubstring(text); };
  CHECK_THAT(message([&] { scaler.step(optimizer); }), contains("no loss was scaled since the last update()"));
  CHECK_THAT(message([&] { scaler.update(); }), contains("no gradients were inspected since the last update()"));
  scaler.scale(code.loss);
  scaler.unscale(optimizer);
  CHECK_THAT(message([&] { scaler.unscale(optimizer); }), contains("these gradients are already unscaled"));
  CHECK_THAT(message([&] { scaler.step(optimizer, {.max_norm = 1.0f}); }), contains("pass max_norm to unscale()"));
  CHECK_THAT(message([&] { scaler.state(); }), contains("in the middle of a step, which cannot be saved"));
  scaler.step(optimizer);
  CHECK_THAT(message([&] { scaler.step(optimizer); }), contains("was already called for these gradients"));
  CHECK_THAT(message([&] { scaler.unscale(optimizer); }), contains("was already called for these gradients"));
}
