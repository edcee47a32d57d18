// SPDX-License-Identifier: Apache-2.0
// What a training loop asks an optimizer between two steps: how far it has come, with which settings.
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace syclamp;

namespace {

constexpr std::size_t elements = 70'000;
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Two parameters in two groups. Group 1 has its own settings.
struct two_groups {
  explicit two_groups(const engine& owner, const std::vector<optimizer_settings>& settings)
      : engine(owner),
        gradients(engine.queue(), std::vector<float>(2 * elements, 1.0f)),
        weights(engine.queue(), std::vector<float>(2 * elements, 0.0f)),
        optimizer(engine, describe(), settings) {}

  std::vector<parameter> describe() const {
    return {{.gradient = {gradients.data(), elements}, .model = {weights.data(), elements}},
            {.gradient = {gradients.data() + elements, elements},
             .model = {weights.data() + elements, elements},
             .group = 1}};
  }

  syclamp::engine engine;
  device_buffer<float> gradients, weights;
  fused_optimizer optimizer;
};

bool are_equal(const optimizer_progress& a, const optimizer_progress& b) {
  return a.last_was_applied == b.last_was_applied && a.finished == b.finished && a.applied == b.applied;
}

}  // namespace

TEST_CASE("the host reads finished and applied steps without a wait", "[optimizers]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  two_groups code(engine, {sgd{.lr = 1}, sgd{.lr = 2}});
  loss_scaler scaler(engine, {.init_scale = 1});
  CHECK(are_equal(code.optimizer.progress(), {false, 0, 0}));

  const bool overflows[] = {false, true, false, false, true};
  std::uint64_t finished = 0, applied = 0;
  for (const bool is_overflow : overflows) {
    const float value = is_overflow ? infinity : 1.0f;
    engine.queue().memcpy(code.gradients.data() + 5, &value, sizeof value).wait();
    scaler.begin_step();
    scaler.step(code.optimizer);
    scaler.update();
    engine.wait();
    ++finished;
    applied += is_overflow ? 0 : 1;
    const std::uint64_t waits = engine.statistics().waits;
    for (const std::uint32_t group : {0u, 1u})
      CHECK(are_equal(code.optimizer.progress(group), {!is_overflow, finished, applied}));
    CHECK(engine.statistics().waits == waits);
  }
  CHECK(code.optimizer.steps(1) == applied);
  CHECK_THROWS_AS(code.optimizer.progress(2), invalid_argument);
}

TEST_CASE("a loaded checkpoint sets the applied steps, and the settings of its groups", "[optimizers]") {
  const engine& engine = all_engines().front();
  const temporary_folder folder;
  const auto file = folder.path() / "run.ckpt";
  two_groups first(engine, {adamw{.lr = 0.25}, adamw{.lr = 0.5}}), second(engine, {adamw{}, adamw{}});
  first.optimizer.apply();
  first.optimizer.apply();
  save_checkpoint(file, {.optimizers = {&first.optimizer}});
  load_checkpoint(file, {.optimizers = {&second.optimizer}});

  CHECK(are_equal(second.optimizer.progress(1), {false, 0, 2}));
  second.optimizer.apply();
  engine.wait();
  CHECK(are_equal(second.optimizer.progress(1), {true, 1, 3}));
  CHECK(second.optimizer.lr(0) == 0.25);
  CHECK(std::get<adamw>(second.optimizer.settings(1)).lr == 0.5);
  // The numbers of a file are FP32.
  CHECK(std::get<adamw>(second.optimizer.settings(1)).betas[1] == 0.999f);
}

TEST_CASE("settings and learning rates can be read back as they were given", "[optimizers]") {
  const engine& engine = all_engines().front();
  two_groups code(engine, {adamw{.lr = 0.1, .betas = {0.8, 0.95}}, adamw{.lr = 0.3, .weight_decay = 0.7}});
  CHECK(code.optimizer.lr() == 0.1);
  CHECK(std::get<adamw>(code.optimizer.settings()).betas[0] == 0.8);
  CHECK(std::get<adamw>(code.optimizer.settings(1)).weight_decay == 0.7);
  code.optimizer.set_lr(0.7, 1);
  CHECK(code.optimizer.lr(0) == 0.1);
  CHECK(code.optimizer.lr(1) == 0.7);
  CHECK(std::get<adamw>(code.optimizer.settings(1)).weight_decay == 0.7);
  code.optimizer.set(adamw{.lr = 0.9}, 0);
  CHECK(code.optimizer.lr() == 0.9);
  CHECK_THROWS_AS(code.optimizer.set_lr(-1.0), invalid_argument);
  CHECK(code.optimizer.lr() == 0.9);
  CHECK_THROWS_AS(code.optimizer.lr(2), invalid_argument);
}

TEST_CASE("zero_gradients sets every gradient to zero", "[optimizers]") {
  const engine& engine = any_engine();
  two_groups code(engine, {sgd{}, sgd{}});
  code.optimizer.zero_gradients().wait();
  CHECK(code.gradients.read() == std::vector<float>(2 * elements, 0.0f));
  CHECK(code.gradients.canaries_are_alive());
}

TEST_CASE("an optimizer that was moved steps as before, and the old object says so", "[optimizers]") {
  const engine& engine = all_engines().front();
  two_groups code(engine, {sgd{.lr = 1}, sgd{.lr = 1}});
  loss_scaler scaler(engine, {.init_scale = 1});
  scaler.begin_step();
  scaler.step(code.optimizer);
  scaler.update();
  fused_optimizer moved = std::move(code.optimizer);
  scaler.begin_step();
  scaler.step(moved);
  scaler.update();
  CHECK(moved.steps() == 2);
  CHECK(code.weights.read()[0] == -2.0f);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is the test
  CHECK_THROWS_MATCHES(
      code.optimizer.steps(), misuse_error,
      Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("this object was moved from")));
  code.optimizer = std::move(moved);
  CHECK(code.optimizer.steps() == 2);
}
