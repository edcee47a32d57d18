// SPDX-License-Identifier: Apache-2.0
// The scaler on the device: what a step does, what it costs, and what it refuses.
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/reference/inspect.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/preset_traces.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("every preset moves its scale on the device as its framework does") {
  const engine& engine = any_engine();
  const device_buffer<float> clean(engine.queue(), {1.0f}), infinite(engine.queue(), {-infinity}),
      not_a_number(engine.queue(), {no_number});
  tensor_list gradients(engine, array_view(clean.data(), 1));
  for (const std::string& name : replayed_presets()) {
    CAPTURE(engine.profile_name(), name);
    const preset_settings settings = settings_to_try(name)[3];  // no powers of two
    loss_scaler scaler(engine, policy_with(name, settings));
    const auto framework = reference::make_framework(name, framework_with(settings));
    std::vector<reference::framework_step> expected;
    for (std::uint64_t i = 0; i < 120; ++i) {
      const reference::gradient step = random_step(5, i);
      gradients.set_address(0, step == reference::gradient::clean ? clean.data()
                               : step == reference::gradient::inf ? infinite.data()
                                                                  : not_a_number.data());
      scaler.begin_step();
      scaler.inspect(gradients);
      scaler.update();
      expected.push_back(framework->step(step));
    }
    engine.wait();
    const auto ledger = scaler.ledger();
    REQUIRE(ledger.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO("step " << i);
      REQUIRE(ledger[i].record.scale == expected[i].scale_before);
      REQUIRE(ledger[i].record.next_scale == expected[i].scale_after);
      REQUIRE(ledger[i].record.was_applied() == expected[i].applied);
    }
  }
}

TEST_CASE("what a step sees of many chunks is what the oracle sees, whichever of them is bad") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  constexpr std::size_t chunks = 70, chunk = 65'536, elements = (chunks - 1) * chunk + 1234;
  constexpr float initial_scale = 1024, limit = 0.5f;
  std::vector<std::uint16_t> content = finite_bits<float16>(elements, 7);
  const auto oracle = [&] {
    return reference::inspect(elements, float16::format, [&](std::uint64_t i) { return content[i]; });
  };
  const reference::statistics finite = oracle();
  const device_buffer<std::uint16_t> gradients(engine.queue(), content);
  constexpr std::size_t first = elements / 3;  // of the second tensor
  const tensor_list list(engine, {{{gradients.data(), element_type::float16}, first},
                                  {{gradients.data() + first, element_type::float16}, elements - first}});
  loss_scaler scaler(engine, {.init_scale = initial_scale, .max = initial_scale});
  const device_scalar max_norm(engine, limit);
  // A square enters at most 64 + 64 + 31 + 1 + 10 + 4 roundings (inspect_tests.cpp), which the root halves. The root,
  // the scale and, for the coefficient, 1e-6 and the quotient follow.
  constexpr double tolerance = ((64 + 64 + 31 + 1 + 10 + 4) / 2.0 + 4) * 0x1p-24;
  const auto is_close = [&](float got, double truth) {
    return std::abs(static_cast<double>(got) - truth) <= tolerance * truth;
  };
  struct fault {
    std::size_t place;
    std::uint16_t bits;
  };
  constexpr std::uint16_t infinite = 0x7c00, undefined = 0xfe00;
  // The statistics of the step before are still in memory: those that are read too early would look right but for their
  // place.
  for (const auto& faults : std::vector<std::vector<fault>>{{},
                                                            {{0 * chunk, infinite}},
                                                            {{35 * chunk + 17, undefined}},
                                                            {{elements - 1, infinite}},
                                                            {{69 * chunk, undefined}, {3 * chunk + 5, infinite}},
                                                            {},
                                                            {{1 * chunk, undefined}, {40 * chunk, undefined}}}) {
    CAPTURE(faults.empty() ? elements : faults.front().place);
    const std::vector<std::uint16_t> clean = content;
    for (const auto& [place, bits] : faults) content[place] = bits;
    engine.queue().memcpy(gradients.data(), content.data(), elements * sizeof content[0]).wait();
    const reference::statistics truth = faults.empty() ? finite : oracle();
    const float scale = scaler.get_scale();

    scaler.begin_step();
    scaler.inspect(list, {.max_norm = max_norm});
    scaler.update();

    const step_record record = scaler.outcome();
    CHECK(record.elements == elements);
    CHECK(record.inf_count == truth.inf_count);
    CHECK(record.nan_count == truth.nan_count);
    CHECK(record.zero_count == truth.zero_count);
    CHECK(record.subnormal_count == truth.subnormal_count);
    CHECK(record.flags == ((truth.inf_count != 0 ? found_inf : 0u) | (truth.nan_count != 0 ? found_nan : 0u)));
    CHECK(record.scale == scale);
    if (faults.empty()) {
      const double norm = std::sqrt(truth.sum_of_squares) / static_cast<double>(scale);
      CHECK(is_close(record.norm, norm));
      REQUIRE(norm > static_cast<double>(limit));  // or nothing would be clipped
      CHECK(is_close(record.clip, static_cast<double>(limit) / (norm + 1e-6)));
      CHECK(static_cast<double>(record.amax) == truth.amax);
      CHECK(record.first_nonfinite_tensor == no_element);
      CHECK(record.first_nonfinite == no_element);
    } else {
      const bool is_in_second = truth.first_nonfinite >= first;
      CHECK(record.first_nonfinite_tensor == (is_in_second ? 1 : 0));
      CHECK(record.first_nonfinite == truth.first_nonfinite - (is_in_second ? first : 0));
      CHECK(std::isnan(record.amax) == (truth.nan_count != 0));
      CHECK(std::isinf(record.amax) == (truth.nan_count == 0));
    }
    content = clean;
  }
}

TEST_CASE("a step is three kernels, one more if it unscales, and no wait") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine);
  const device_buffer<float> loss(engine.queue(), {3.0f});
  const tensor_list loss_list(engine, array_view(loss.data(), 1));
  const device_scalar max_norm(engine, 1.0f);
  code.step(1.0f);  // everything is compiled and allocated
  code.scaler.scale(loss_list);
  engine.wait();
  const bool unscales = GENERATE(false, true);
  const std::uint64_t kernels = engine.statistics().kernels_submitted, waits = engine.statistics().waits;
  if (unscales) code.scaler.unscale(code.optimizer, {.max_norm = max_norm});
  code.scaler.step(code.optimizer, unscales ? step_options{} : step_options{.max_norm = max_norm});
  code.scaler.update();
  CHECK(engine.statistics().kernels_submitted - kernels == (unscales ? 4 : 3));
  CHECK(engine.statistics().waits == waits);
  engine.wait();
  CHECK(loss.read()[0] == 3.0f * 65536.0f);
}

TEST_CASE("gradients are applied unscaled, or not at all") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 1024, .growth_interval = 2});
  CHECK(code.step(0.5f).was_applied());
  CHECK(code.optimizer.weight() == 0.5f);
  const step_record bad = code.step(0.5f, GENERATE(infinity, -infinity, no_number, -no_number));
  CHECK_FALSE(bad.was_applied());
  CHECK(bad.next_scale == 512.0f);
  CHECK(code.optimizer.weight() == 0.5f);
  CHECK(code.optimizer.weight(training::special_place) == 0.5f);
  CHECK(code.step(0.25f).was_applied());
  CHECK(code.optimizer.weight() == 0.75f);
}

TEST_CASE("unscaling before the step gives the same weights, and the gradients stay unscaled") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 4096});
  code.scaler.begin_step();
  code.backward(0.125f, 4096.0f);
  code.scaler.unscale(code.optimizer);
  CHECK(code.gradients.read()[0] == 0.125f);
  code.scaler.step(code.optimizer);
  code.scaler.update();
  CHECK(code.optimizer.weight() == 0.125f);
  CHECK(code.scaler.outcome().was_applied());
}

TEST_CASE("misuse is refused with what to call, and changes nothing") {
  const engine& engine = all_engines().front();
  training code(engine);
  loss_scaler& scaler = code.scaler;
  const auto says = [](const char* text) { return MessageMatches(ContainsSubstring(text)); };
  CHECK_THROWS_MATCHES(scaler.step(code.optimizer), misuse_error, says("call begin_step() or scale(loss)"));
  CHECK_THROWS_MATCHES(scaler.unscale(code.optimizer), misuse_error, says("call begin_step() or scale(loss)"));
  CHECK_THROWS_MATCHES(scaler.inspect(code.optimizer.gradients()), misuse_error,
                       says("call begin_step() or scale(loss)"));
  CHECK_THROWS_MATCHES(scaler.update(), misuse_error, says("call step()"));
  scaler.begin_step();
  code.backward(1.0f, 65536.0f);
  CHECK_THROWS_MATCHES(scaler.update(), misuse_error, says("no gradients were inspected"));
  scaler.unscale(code.optimizer);
  CHECK_THROWS_MATCHES(scaler.unscale(code.optimizer), misuse_error, says("already unscaled"));
  const device_scalar max_norm(engine, 1.0f);
  CHECK_THROWS_MATCHES(scaler.step(code.optimizer, {.max_norm = max_norm}), misuse_error,
                       says("pass max_norm to unscale()"));
  CHECK_THROWS_MATCHES(scaler.state(), misuse_error, says("call update() first"));
  scaler.step(code.optimizer);
  CHECK_THROWS_MATCHES(scaler.step(code.optimizer), misuse_error, says("call update() first"));
  CHECK_THROWS_MATCHES(scaler.unscale(code.optimizer), misuse_error, says("call update() first"));
  scaler.update();
  CHECK_THROWS_MATCHES(scaler.update(), misuse_error, says("call step()"));
  CHECK(code.optimizer.weight() == 1.0f);
  CHECK(scaler.outcome().step == 1);
  CHECK_THROWS_MATCHES(loss_scaler(engine, {.growth_factor = 0.5}), invalid_argument, says("growth_factor is 0.5"));
  CHECK_THROWS_MATCHES(loss_scaler(engine, {}, {.scales = 0}), invalid_argument, says("scales is 0"));
  CHECK_THROWS_MATCHES(loss_scaler(engine, {}, {.ledger = 0}), invalid_argument, says("ledger is 0"));
}

TEST_CASE("no gradients at all are no error, no clean step and no overflow") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  loss_scaler scaler(engine, {.growth_interval = 1});
  const tensor_list empty(engine, std::vector<tensor>{}), absent(engine, array_view(nullptr, 5, element_type::float16));
  for (const tensor_list& list : {empty, absent}) {
    scaler.begin_step();
    scaler.inspect(list);
    scaler.update();
    CHECK(scaler.outcome().outcome == step_outcome::no_gradients);
    CHECK(scaler.get_scale() == 65536.0f);
  }
  CHECK(scaler.outcome().applied == 0);
  CHECK(scaler.outcome().skipped == 0);
}

TEST_CASE("law 8: finite gradients with an infinite norm are skipped if they are to be clipped; the scale stays") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 1, .growth_interval = 1});
  const device_scalar max_norm(engine, 1.0f);
  const step_record skipped = code.step(1e38f, 0.0f, {.max_norm = max_norm});
  CHECK(skipped.outcome == step_outcome::norm_overflow);
  CHECK(skipped.status == step_status::norm_overflow);
  CHECK(skipped.next_scale == 1.0f);
  CHECK(code.optimizer.weight() == 0.0f);
  CHECK(code.step(1e38f).was_applied());  // without clipping it is an ordinary step
  CHECK(code.optimizer.weight() == 1e38f);
}

TEST_CASE("the decision clips by the norm of the unscaled gradients") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 256});
  const device_scalar max_norm(engine, 5.0f);
  code.scaler.begin_step();
  code.backward(1.0f, 256.0f);  // norm 10
  const step_decision* decision = code.scaler.inspect(code.optimizer.gradients(), {.max_norm = max_norm});
  step_decision read;
  engine.queue().memcpy(&read, decision, sizeof read).wait();
  CHECK(read.apply == 1);
  CHECK(read.clip == 5.0f / (10.0f + 1e-6f));
  CHECK(read.gradient(256.0f) == 1.0f * read.clip);
  code.scaler.update();
  CHECK(code.scaler.outcome().norm == 10.0f);
  CHECK(code.scaler.outcome().clip == read.clip);
}

TEST_CASE("the caller's flag and a spike of the norm skip a step and leave the scale alone") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 64, .growth_interval = 2});
  CHECK(code.step(1.0f).was_applied());
  const std::uint32_t flag = found_by_user;
  engine.queue().memcpy(code.scaler.device_user_flags(), &flag, sizeof flag).wait();
  CHECK(code.step(1.0f).outcome == step_outcome::skipped_by_user);
  CHECK(code.step(1.0f).next_scale == 128.0f);  // the flag was for one step; two clean steps make it grow
  CHECK(code.optimizer.weight() == 2.0f);

  training guarded(engine, {.init_scale = 1, .spike_threshold = 4, .spike_window = 8});
  for (int i = 0; i < 20; ++i) CHECK(guarded.step(i % 2 == 0 ? 1.0f : 1.1f).was_applied());
  CHECK(guarded.step(2.0f).outcome == step_outcome::skipped_by_user);
  CHECK(guarded.step(1.0f).was_applied());
}

TEST_CASE("a spike guard watches the loss") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine);
  const spike_guard guard(engine, {.threshold = 5, .window = 4});
  const auto outcome_at = [&](float loss) {
    const device_scalar value(engine, loss);
    guard.check(value.value(), code.scaler);
    return code.step(1.0f).outcome;
  };
  for (int i = 0; i < 8; ++i) CHECK(outcome_at(i % 2 == 0 ? 2.0f : 2.2f) == step_outcome::applied);
  CHECK(outcome_at(9.0f) == step_outcome::skipped_by_user);
  CHECK(outcome_at(-100.0f) == step_outcome::applied);  // a low loss is no spike
  CHECK(outcome_at(no_number) == step_outcome::skipped_by_user);
  CHECK_THROWS_AS(spike_guard(engine, {.threshold = 0}), invalid_argument);
  CHECK_THROWS_AS(spike_guard(engine, {.window = 1}), invalid_argument);
}

TEST_CASE("one optimizer may be skipped and another not, or all together") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 4});
  const device_buffer<float> others(engine.queue(), std::vector<float>(10, 4.0f));
  adding_optimizer other(engine, 10, others.data());
  const bool together = GENERATE(false, true);
  const bool unscales = GENERATE(false, true);
  code.scaler.begin_step();
  code.backward(1.0f, 4.0f, infinity);
  if (unscales) code.scaler.unscale(other);
  if (together) {
    code.scaler.step(std::vector<optimizer*>{&code.optimizer, &other});
  } else {
    code.scaler.step(code.optimizer);
    code.scaler.step(other);
  }
  code.scaler.update();
  const step_record record = code.scaler.outcome();
  CHECK(code.optimizer.weight() == 0.0f);
  CHECK(other.weight() == (together ? 0.0f : 1.0f));
  CHECK(record.lists == 2);
  CHECK(record.outcome == step_outcome::skipped_inf);
  CHECK(record.next_scale == 2.0f);  // either way it is an overflow
  // What one step found does not hang over the next.
  code.scaler.begin_step();
  code.backward(1.0f, 2.0f);
  code.scaler.step(std::vector<optimizer*>{&code.optimizer, &other});
  code.scaler.update();
  CHECK(code.scaler.outcome().was_applied());
  CHECK(code.optimizer.weight() == 1.0f);
}

TEST_CASE("all together also means a norm that overflows") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 1});
  const device_buffer<float> others(engine.queue(), std::vector<float>(10, 1.0f));
  adding_optimizer other(engine, 10, others.data());
  const device_scalar max_norm(engine, 100.0f);
  code.scaler.begin_step();
  code.backward(1e38f, 1.0f);
  code.scaler.step(std::vector<optimizer*>{&other, &code.optimizer}, {.max_norm = max_norm});
  code.scaler.update();
  CHECK(other.weight() == 0.0f);
  CHECK(code.scaler.outcome().outcome == step_outcome::norm_overflow);
  CHECK(code.scaler.outcome().next_scale == 1.0f);
}

TEST_CASE("several scales: each group has its own, and skips with the others or alone") {
  const engine& engine = any_engine();
  const bool together = GENERATE(false, true);
  CAPTURE(engine.profile_name(), together);
  loss_scaler scaler(engine, {.init_scale = 8, .growth_interval = 1}, {.scales = 3, .skip_together = together});
  const device_buffer<float> memory(engine.queue(), {8.0f, 16.0f, infinity, 8.0f});
  const tensor_list gradients(
      engine, {{memory.data(), 2, "a", 0}, {memory.data() + 2, 1, "b", 1}, {memory.data() + 3, 1, "c", 2}});
  scaler.begin_step();
  const step_decision* decisions = scaler.inspect(gradients);
  scaler.update();
  std::vector<step_decision> read(3);
  engine.queue().memcpy(read.data(), decisions, 3 * sizeof(step_decision)).wait();
  CHECK(read[0].apply == (together ? 0 : 1));
  CHECK(read[1].apply == 0);
  CHECK(read[2].apply == (together ? 0 : 1));
  CHECK(scaler.get_scale(0) == 16.0f);  // its own gradients were clean
  CHECK(scaler.get_scale(1) == 4.0f);
  CHECK(scaler.get_scale(2) == 16.0f);
  CHECK(scaler.outcome(0).outcome == (together ? step_outcome::skipped_jointly : step_outcome::applied));
  CHECK(scaler.outcome(1).outcome == step_outcome::skipped_inf);
  CHECK(scaler.ledger().size() == 3);
  CHECK(scaler.ledger()[1].first_nonfinite_name == "b");

  // Each loss is multiplied by the scale of its group, and the gradients of the group are unscaled by it.
  const device_buffer<float> losses(engine.queue(), {1.0f, 1.0f, 1.0f}),
      shadow(engine.queue(), std::vector<float>(4, 0.0f));
  scaler.scale(
      tensor_list(engine, {{losses.data(), 1, "", 0}, {losses.data() + 1, 1, "", 1}, {losses.data() + 2, 1, "", 2}}));
  CHECK(losses.read() == std::vector<float>{16, 4, 16});
  const tensor_list unscaled(
      engine, {{shadow.data(), 2, "a", 0}, {shadow.data() + 2, 1, "b", 1}, {shadow.data() + 3, 1, "c", 2}});
  const std::vector<float> next{32, 16, 8, 48};
  engine.queue().memcpy(memory.data(), next.data(), 16).wait();
  scaler.unscale(gradients, unscaled);
  scaler.update();
  CHECK(shadow.read() == std::vector<float>{2, 1, 2, 3});
  CHECK(scaler.outcome(2).norm == std::sqrt(4.0f + 1.0f + 4.0f + 9.0f));

  const tensor_list too_many(engine, {{memory.data(), 1, "", 3}});
  scaler.begin_step();
  CHECK_THROWS_AS(scaler.inspect(too_many), invalid_argument);
}

TEST_CASE("an accumulation window drops bad micro-batches and applies the mean of the others") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  loss_scaler scaler(engine, {.init_scale = 4, .growth_interval = 1000});
  const device_buffer<float> micro(engine.queue(), std::vector<float>(8, 0.0f)),
      sums(engine.queue(), std::vector<float>(8, 0.0f));
  adding_optimizer optimizer(engine, 8, sums.data());
  const tensor_list gradients(engine, array_view(micro.data(), 8));
  const auto add = [&](float value, bool update) {
    const float scale = scaler.get_scale();
    const std::vector<float> content(8, value * scale);
    engine.queue().memcpy(micro.data(), content.data(), 32).wait();
    scaler.begin_step();
    scaler.accumulate(gradients, optimizer.gradients());
    if (update) scaler.update();
  };
  SECTION("the scale may change inside the window") {
    add(1.0f, true);
    CHECK(scaler.outcome().outcome == step_outcome::accumulated);
    add(infinity, true);
    CHECK(scaler.outcome().outcome == step_outcome::skipped_inf);
    CHECK(scaler.get_scale() == 2.0f);
    add(4.0f, false);
    scaler.step_accumulated(optimizer);
    scaler.update();
    CHECK(optimizer.weight() == 2.5f);  // (1 + 4) / 2
    CHECK(scaler.outcome().was_applied());
    CHECK(scaler.outcome().applied == 1);
  }
  SECTION("or at its end, and a dropped micro-batch backs off though the rest is applied") {
    add(1.0f, false);
    add(no_number, false);
    add(2.0f, false);
    const device_scalar max_norm(engine, 1.0f);
    scaler.step_accumulated(optimizer, {.max_norm = max_norm});
    scaler.update();
    CHECK(optimizer.weight() == 1.5f * scaler.outcome().clip);
    CHECK(scaler.outcome().clip < 1.0f);
    CHECK(scaler.outcome().norm == 1.5f * std::sqrt(8.0f));
    CHECK(scaler.outcome().was_applied());
    CHECK(scaler.get_scale() == 2.0f);
  }
  SECTION("nothing is applied if nothing is left") {
    add(infinity, false);
    scaler.step_accumulated(optimizer);
    scaler.update();
    CHECK(optimizer.weight() == 0.0f);
    CHECK(scaler.outcome().outcome == step_outcome::skipped_inf);
  }
}

TEST_CASE("a policy may ask for the same batch again") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 16, .retries = 2});
  CHECK(code.step(1.0f, infinity).retry == 1);
  const step_record again = code.step(1.0f, infinity);
  CHECK(again.retry == 1);
  CHECK(again.next_scale == 4.0f);
  CHECK(again.applied == 0);                    // nothing was consumed
  CHECK(code.step(1.0f, infinity).retry == 0);  // two retries were enough
  CHECK(code.step(1.0f, infinity).retry == 1);
  CHECK(code.step(1.0f).retry == 0);
}

TEST_CASE("gradients of a skipped step are cleared if the policy says so") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.clear_on_skip = true});
  code.step(1.0f, no_number);
  CHECK(code.gradients.read() == std::vector<float>(training::elements, 0.0f));
  code.step(1.0f);
  CHECK(code.gradients.read()[0] == 32768.0f);
}

TEST_CASE("a stopped scaler applies nothing until it is resumed") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 2, .give_up_after = 2, .on_give_up = give_up_action::stop});
  code.step(1.0f, infinity);
  CHECK(code.step(1.0f, infinity).status == step_status::too_many_skips);
  CHECK(code.step(1.0f).outcome == step_outcome::stopped);
  CHECK(code.optimizer.weight() == 0.0f);
  code.scaler.resume();
  CHECK(code.step(1.0f).was_applied());
}

TEST_CASE("the scale can be set, and the policy changed, on the way") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 2, .growth_interval = 10});
  code.step(1.0f);
  code.scaler.update(1024.0f);
  CHECK(code.scaler.get_scale() == 1024.0f);
  scaling_policy faster = code.scaler.policy();
  faster.growth_interval = 2;
  code.scaler.set_policy(faster);
  CHECK(code.step(1.0f).next_scale == 2048.0f);  // the counter was left alone
  CHECK_THROWS_AS(code.scaler.update(0.0f), invalid_argument);
  CHECK_THROWS_AS(code.scaler.update(3.0f), invalid_argument);  // not a power of two
  faster.backoff_factor = 2;
  CHECK_THROWS_AS(code.scaler.set_policy(faster), invalid_argument);
}

TEST_CASE("disabled scaling is the same path: no scale, no inspection, every step applied") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.mode = scaling_mode::disabled});
  const device_buffer<float> loss(engine.queue(), {3.0f});
  const std::uint64_t before = engine.statistics().kernels_submitted;
  code.scaler.begin_step();
  code.backward(2.0f, 1.0f);
  code.scaler.step(code.optimizer);
  CHECK(engine.statistics().kernels_submitted - before == 1);  // the optimizer's
  code.scaler.update();
  code.scaler.scale(tensor_list(engine, array_view(loss.data(), 1)));
  CHECK(loss.read()[0] == 3.0f);
  CHECK(code.optimizer.weight() == 2.0f);
  CHECK(code.scaler.outcome().was_applied());
}

TEST_CASE("a disabled scaler applies everything, whatever was clipped or found before, alone or together") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.mode = scaling_mode::disabled});
  const device_scalar max_norm(engine, 1.0f);
  code.step(1.0f, 0.0f, {.max_norm = max_norm});
  code.scaler.begin_step();
  code.backward(1.0f, 1.0f, infinity);
  code.scaler.step(std::vector<optimizer*>{&code.optimizer});
  code.scaler.update();
  CHECK(code.optimizer.weight(training::special_place) == infinity);
  scaling_policy dynamic;
  CHECK_THROWS_AS(code.scaler.set_policy(dynamic), invalid_argument);
  training enabled(engine);
  CHECK_THROWS_AS(enabled.scaler.set_policy({.mode = scaling_mode::disabled}), invalid_argument);
}

namespace {

/// Has gradients, and leaves the weights alone.
struct idle_optimizer final : optimizer {
  tensor_list list;
  explicit idle_optimizer(tensor_list list) : list(std::move(list)) {}
  const tensor_list& gradients() const override { return list; }
  sycl::event apply(const step_inputs&) override { return {}; }
};

}  // namespace

TEST_CASE("with several scales, a list without gradients of a scale does not count as skipped there") {
  const engine& engine = any_engine();
  const bool is_joint = GENERATE(false, true), skips_together = GENERATE(false, true);
  CAPTURE(engine.profile_name(), is_joint, skips_together);
  loss_scaler scaler(engine, {.init_scale = 1, .growth_interval = 1}, {.scales = 3, .skip_together = skips_together});
  const device_buffer<float> memory(engine.queue(), {1.0f, 2.0f});
  idle_optimizer first(tensor_list(engine, {{memory.data(), 1, "a", 0}})),
      second(tensor_list(engine, {{memory.data() + 1, 1, "b", 1}}));
  const auto step = [&] {
    scaler.begin_step();
    if (is_joint) {
      scaler.step(std::vector<optimizer*>{&first, &second});
    } else {
      scaler.step(first);
      scaler.step(second);
    }
    scaler.update();
  };
  step();
  for (const std::uint32_t scale : {0u, 1u}) {
    const step_record record = scaler.outcome(scale);
    CHECK(record.outcome == step_outcome::applied);
    CHECK(record.skipped_lists == 0);
    CHECK(record.skips_in_a_row == 0);
    CHECK(record.next_scale == 2.0f);
  }
  CHECK(scaler.outcome(2).outcome == step_outcome::no_gradients);
  CHECK(scaler.outcome(2).next_scale == 1.0f);
  engine.queue().fill(memory.data() + 1, infinity, 1).wait();
  step();
  CHECK(scaler.outcome(0).was_applied() == !is_joint);
  CHECK(scaler.outcome(1).outcome == step_outcome::skipped_inf);
}

TEST_CASE("with several scales, the gradients of the groups that are skipped are cleared, and no others") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  loss_scaler scaler(engine, {.init_scale = 1, .clear_on_skip = true}, {.scales = 2, .skip_together = false});
  const device_buffer<float> memory(engine.queue(), {1.0f, infinity, 2.0f});
  idle_optimizer both(tensor_list(engine, {{memory.data(), 1, "a", 0}, {memory.data() + 1, 2, "b", 1}}));
  scaler.begin_step();
  scaler.step(both);
  scaler.update();
  engine.wait();
  CHECK(memory.read() == std::vector<float>{1.0f, 0.0f, 0.0f});
}

TEST_CASE("gradients are dealt with once, whatever the calls") {
  const engine& engine = all_engines().front();
  training code(engine, {.init_scale = 1});
  const device_buffer<float> sums(engine.queue(), std::vector<float>(training::elements, 0.0f));
  const tensor_list sum(engine, array_view(sums.data(), training::elements));
  const device_scalar max_norm(engine, 1.0f);
  code.scaler.begin_step();
  code.backward(1.0f, 1.0f);
  CHECK_THROWS_AS(code.scaler.step(std::vector<optimizer*>{&code.optimizer, &code.optimizer}), invalid_argument);
  code.scaler.unscale(code.optimizer);
  CHECK_THROWS_AS(code.scaler.accumulate(code.optimizer.gradients(), sum), misuse_error);
  CHECK_THROWS_AS(code.scaler.step(std::vector<optimizer*>{&code.optimizer}, {.max_norm = max_norm}), misuse_error);
  code.scaler.step(std::vector<optimizer*>{&code.optimizer});
  CHECK_THROWS_AS(code.scaler.accumulate(code.optimizer.gradients(), sum), misuse_error);
  code.scaler.update();
  CHECK(code.optimizer.weight() == 1.0f);
  CHECK(code.scaler.outcome().elements == training::elements);
}

TEST_CASE("a limit that was given to unscale holds for a joint step, too") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 4});
  const device_buffer<float> others(engine.queue(), std::vector<float>(10, 4.0f));
  adding_optimizer other(engine, 10, others.data());
  const device_scalar max_norm(engine, 5.0f);
  code.scaler.begin_step();
  code.backward(1.0f, 4.0f);  // norm 10
  code.scaler.unscale(code.optimizer, {.max_norm = max_norm});
  code.scaler.step(std::vector<optimizer*>{&code.optimizer, &other});
  code.scaler.update();
  CHECK(code.optimizer.weight() == 5.0f / (10.0f + 1e-6f));
  CHECK(other.weight() == 1.0f);
  // If the norm overflows although there is a limit, the joint step is skipped.
  code.scaler.begin_step();
  code.backward(5e37f, 4.0f);
  code.scaler.unscale(code.optimizer, {.max_norm = max_norm});
  code.scaler.step(std::vector<optimizer*>{&code.optimizer, &other});
  code.scaler.update();
  CHECK(other.weight() == 1.0f);
  CHECK(code.scaler.outcome().outcome == step_outcome::norm_overflow);
}

TEST_CASE("a flag that comes after the last look is for the next step") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 4});
  code.scaler.begin_step();
  code.backward(1.0f, 4.0f);
  code.scaler.unscale(code.optimizer);
  const std::uint32_t flag = found_by_user;
  engine.queue().memcpy(code.scaler.device_user_flags(), &flag, sizeof flag).wait();
  code.scaler.step(code.optimizer);
  code.scaler.update();
  CHECK(code.scaler.outcome().was_applied());
  CHECK(code.step(1.0f).outcome == step_outcome::skipped_by_user);
  CHECK(code.step(1.0f).was_applied());
}

TEST_CASE("a spike is seen with a consensus, too, and a norm that is not finite is no spike") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 1, .spike_threshold = 4, .spike_window = 4},
                {.consensus = {.sum = [](sycl::queue&, float*, std::size_t) {}}});
  for (int i = 0; i < 8; ++i) CHECK(code.step(i % 2 == 0 ? 1.0f : 1.1f).was_applied());
  CHECK(code.step(5.0f).outcome == step_outcome::skipped_by_user);
  const device_scalar max_norm(engine, 1.0f);
  CHECK(code.step(1e38f, 0.0f, {.max_norm = max_norm}).outcome == step_outcome::norm_overflow);
  CHECK(code.step(1e18f).outcome == step_outcome::skipped_by_user);  // too large to enter the mean
  CHECK(code.step(50.0f).outcome == step_outcome::skipped_by_user);  // the mean has not changed
}

TEST_CASE("micro-batches of groups: a group without tensors keeps nothing from being added") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  loss_scaler scaler(engine, {.init_scale = 4}, {.scales = 3});
  const device_buffer<float> micro(engine.queue(), {8.0f}), sums(engine.queue(), {1.0f});
  const tensor_list gradients(engine, {{micro.data(), 1, "", 1}}), sum(engine, {{sums.data(), 1, "", 1}});
  scaler.begin_step();
  scaler.accumulate(gradients, sum);
  scaler.update();
  CHECK(sums.read()[0] == 3.0f);
  CHECK(scaler.outcome(1).outcome == step_outcome::accumulated);
  CHECK(scaler.outcome(0).outcome == step_outcome::no_gradients);
  CHECK_THROWS_AS(scaler.state(), misuse_error);  // a window is open
  const tensor_list beyond(engine, {{micro.data(), 1, "", 3}});
  CHECK_THROWS_AS(scaler.scale(beyond), invalid_argument);
}

TEST_CASE("several scales of several ranks: every rank reports flags for all of them") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  std::vector<std::size_t> counts;
  const auto hook = [&](sycl::queue&, float*, std::size_t count) { counts.push_back(count); };
  loss_scaler scaler(engine, {.init_scale = 4}, {.scales = 3, .consensus = {.sum = hook}});
  const device_buffer<float> memory(engine.queue(), {8.0f});
  for (const tensor_list& list :
       {tensor_list(engine, std::vector<tensor>{}), tensor_list(engine, {{memory.data(), 1, "", 1}})}) {
    scaler.begin_step();
    scaler.inspect(list);
    scaler.update();
  }
  CHECK(counts == std::vector<std::size_t>{27, 27});
  CHECK(scaler.outcome(1).elements == 1);
  CHECK(scaler.outcome(2).outcome == step_outcome::no_gradients);
}

TEST_CASE("skips in a row are steps that were not applied") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  loss_scaler scaler(engine, {.init_scale = 4, .give_up_after = 2, .on_give_up = give_up_action::stop});
  const device_buffer<float> good(engine.queue(), {4.0f}), bad(engine.queue(), {infinity}),
      sums(engine.queue(), {0.0f});
  adding_optimizer optimizer(engine, 1, sums.data());
  const tensor_list of_good(engine, array_view(good.data(), 1)), of_bad(engine, array_view(bad.data(), 1));
  for (int i = 0; i < 4; ++i) {  // one micro-batch of two is bad, each time
    scaler.begin_step();
    scaler.accumulate(of_good, optimizer.gradients());
    scaler.accumulate(of_bad, optimizer.gradients());
    scaler.step_accumulated(optimizer);
    scaler.update();
    CHECK(scaler.outcome().was_applied());
    CHECK(scaler.outcome().skips_in_a_row == 0);
  }
}

TEST_CASE("a disabled scaler has no scale to set, and counts steps, not updates") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.mode = scaling_mode::disabled});
  CHECK_THROWS_AS(code.scaler.update(1024.0f), misuse_error);
  CHECK(code.step(1.0f).applied == 1);
  scaler_snapshot snapshot = code.scaler.state();
  snapshot.scales[0].exact = snapshot.scales[0].next = {std::uint64_t{1} << 52, -51};
  snapshot.scales[0].scale = 2.0f;
  CHECK_THROWS_AS(code.scaler.load(snapshot), invalid_argument);
  CHECK_THROWS_AS(code.scaler.load({.policy = {}, .scales = {scale_state{}}, .ledger = {}}), invalid_argument);
}

TEST_CASE("gradients that were unscaled elsewhere are not what the optimizer would read") {
  const engine& engine = all_engines().front();
  training code(engine, {.init_scale = 4});
  const device_buffer<float> elsewhere(engine.queue(), std::vector<float>(training::elements, 0.0f));
  code.scaler.begin_step();
  code.backward(1.0f, 4.0f);
  code.scaler.unscale(code.optimizer.gradients(),
                      tensor_list(engine, array_view(elsewhere.data(), training::elements)));
  CHECK_THROWS_AS(code.scaler.step(code.optimizer), misuse_error);
}

TEST_CASE("the ledger tells what happened, with the name of the tensor that overflowed") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  loss_scaler scaler(engine, {.init_scale = 16}, {.ledger = 4});
  const device_buffer<std::uint16_t> memory(engine.queue(), {0x3c00, 0x0001, 0x0000, 0x7c00, 0xfe00, 0x3c00});
  const tensor_list gradients(engine, {{{memory.data(), element_type::float16}, 3, "layer1"},
                                       {{memory.data() + 3, element_type::float16}, 3, "layer2"}});
  std::vector<std::uint64_t> called;
  scaler.on_step([&](const ledger_entry& entry) { called.push_back(entry.record.step); });
  for (int i = 0; i < 6; ++i) {
    scaler.begin_step();
    scaler.inspect(gradients);
    scaler.update();
  }
  engine.wait();
  scaler.report();
  const auto ledger = scaler.ledger();
  REQUIRE(ledger.size() == 4);  // the last ones
  CHECK(ledger.front().record.step == 3);
  const step_record& last = ledger.back().record;
  CHECK(ledger.back().first_nonfinite_name == "layer2");
  CHECK(last.step == 6);
  CHECK(last.first_nonfinite_tensor == 1);
  CHECK(last.first_nonfinite == 0);
  CHECK(last.elements == 6);
  CHECK(last.inf_count == 1);
  CHECK(last.nan_count == 1);
  CHECK(last.zero_count == 1);
  CHECK(last.subnormal_count == 1);
  CHECK(last.flags == (found_inf | found_nan));
  CHECK(last.scale == 0.5f);
  CHECK(last.next_scale == 0.25f);
  CHECK(last.skips_in_a_row == 6);
  CHECK(last.skipped == 6);
  CHECK(std::isnan(last.headroom()));
  CHECK(called.back() == 6);
  CHECK(std::is_sorted(called.begin(), called.end()));
}

TEST_CASE("headroom is counted from the limit") {
  const engine& engine = all_engines().front();
  training code(engine, {.init_scale = 64});
  const step_record record = code.step(2.0f);
  CHECK(record.amax == 128.0f);
  CHECK(record.headroom() == std::log2(65504.0 / 128.0));
}

TEST_CASE("the ledger can be read at any time by any thread, and no record is torn") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  training code(engine, {.init_scale = 2, .growth_interval = 1, .max = 2}, {.ledger = 8});
  code.step(1.0f);
  std::atomic<bool> is_done = false;
  std::uint64_t torn = 0, seen = 0;
  std::thread reader([&] {
    while (!is_done) {
      std::uint64_t before = 0;
      for (const ledger_entry& entry : code.scaler.ledger()) {
        const step_record& record = entry.record;
        ++seen;
        const bool is_whole = record.step > before && record.applied == record.step && record.elements == 100 &&
                              record.norm == 10.0f && record.scale == 2.0f && record.lists == 1;
        if (!is_whole) ++torn;
        before = record.step;
      }
    }
  });
  for (int i = 0; i < 3000; ++i) {
    code.scaler.begin_step();
    code.scaler.inspect(code.optimizer.gradients());
    code.scaler.update();
  }
  engine.wait();
  is_done = true;
  reader.join();
  CHECK(torn == 0);
  CHECK(seen > 0);
  CHECK(code.scaler.ledger().size() == 8);
}

TEST_CASE("a consensus is asked for in every path, and decides") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  float other_inf = 0, other_squares = 0;
  int calls = 0;
  const auto hook = [&](sycl::queue& queue, float* numbers, std::size_t count) {
    ++calls;
    REQUIRE(count == 9);
    float all[9];
    queue.memcpy(all, numbers, sizeof all).wait();
    all[0] += other_inf;
    all[7] += other_squares;
    queue.memcpy(numbers, all, sizeof all).wait();
  };
  training code(engine, {.init_scale = 4, .growth_interval = 1}, {.consensus = {.sum = hook}});
  CHECK(code.step(1.0f).next_scale == 8.0f);
  other_inf = GENERATE(1.0f, 2.0f, 3.0f, 0.5f, no_number);  // whatever a sum over ranks may be
  CHECK(code.step(1.0f).outcome == step_outcome::skipped_inf);
  CHECK(code.optimizer.weight() == 1.0f);
  code.scaler.begin_step();
  code.backward(1.0f, 4.0f);
  code.scaler.unscale(code.optimizer);
  code.scaler.step(code.optimizer);
  code.scaler.update();
  CHECK(code.scaler.outcome().next_scale == 2.0f);
  code.scaler.begin_step();
  code.backward(1.0f, 2.0f);
  code.scaler.step(std::vector<optimizer*>{&code.optimizer});
  code.scaler.update();
  CHECK(code.optimizer.weight() == 1.0f);
  CHECK(calls == 4);

  // A rank without gradients moves its scale with the others.
  other_inf = 0;
  loss_scaler idle(engine, {.init_scale = 4, .growth_interval = 1},
                   {.consensus = {.sum = [&](sycl::queue& queue, float* numbers, std::size_t) {
                      const float all[9] = {0, 0, 0, 0, 0, 1, 0, 16, 0};
                      queue.memcpy(numbers, all, sizeof all).wait();
                    }}});
  idle.begin_step();
  idle.inspect(tensor_list(engine, std::vector<tensor>{}));
  idle.update();
  CHECK(idle.get_scale() == 8.0f);
  CHECK(idle.outcome().norm == 1.0f);
  CHECK_THROWS_AS(loss_scaler(engine, {.growth_mode = growth_kind::headroom}, {.consensus = {.sum = hook}}),
                  invalid_argument);
}
