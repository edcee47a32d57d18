// SPDX-License-Identifier: Apache-2.0
// A joint step of several optimizers is clipped by the norm over all of their gradients.
#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/gradient_parts.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/simulated_ranks.hpp"

using namespace syclamp;

namespace {

using parts = gradient_parts;

}  // namespace

TEST_CASE("a joint step clips by the norm over the gradients of all optimizers, or each by its own") {
  const engine& engine = any_engine();
  const bool clips_separately = GENERATE(false, true);
  const std::uint32_t scales = GENERATE(1u, 3u);
  CAPTURE(engine.profile_name(), clips_separately, scales);
  struct exponents {
    int scale, first, second, third;
  };
  // Squares within the range of FP32, above it, below it, and lists that differ by more than FP32 can hold.
  for (const auto [scale, first, second, third] :
       {exponents{10, 10, 11, 8}, {70, 70, 71, 70}, {-70, -70, -70, -71}, {70, 70, 0, -70}, {40, -30, 41, 39}}) {
    CAPTURE(scale, first, second, third);
    const std::uint32_t last = scales - 1;
    const std::vector<parts> lists{{{values_near(first, 1'001, 1), 0}, {values_near(first - 1, 67, 2), last}},
                                   {{values_near(second, 70'001, 3), last / 2}, {values_near(second, 3, 6), 0}},
                                   {{values_near(third, 5, 4), last}, {values_near(third, 130, 5), 0}}};
    double squares = 0;
    for (const parts& list : lists) squares += sum_of_squares(list, scale);
    const double norm = std::sqrt(squares), limit = 2.0;
    joint_training code(engine, lists, scale, {.scales = scales});
    const step_record record = code.step({.max_norm = 2.0f, .clip_separately = clips_separately});
    CHECK(record.was_applied());
    CHECK(record.lists == 3);
    check_norm(record.norm, norm);
    double smallest = 1.0;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const double own = std::sqrt(sum_of_squares(lists[i], scale));
      const double clip = exact_clip(clips_separately ? own : norm, limit);
      check_weights(*code.members[i], lists[i], scale, clip);
      smallest = std::min(smallest, clip);
    }
    check_norm(record.clip, smallest, 2 * joint_norm_tolerance);
    // The norm in the record is the one that was clipped by.
    if (!clips_separately) CHECK(record.clip == 2.0f / (record.norm + 1e-6f));
  }
}

TEST_CASE("a joint step of one optimizer clips by the same bits as a plain step") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  for (const int exponent : {-100, -60, 0, 55, 63, 64, 100}) {
    CAPTURE(exponent);
    const parts list{{values_near(exponent, 3'001, 7)}, {values_near(exponent, 11, 8)}};
    joint_training code(engine, {list}, exponent), plain(engine, {list}, exponent);
    const step_record record = code.step({.max_norm = 1.0f});
    plain.scaler.begin_step();
    plain.scaler.step(*plain.optimizers[0], {.max_norm = 1.0f});
    plain.scaler.update();
    CHECK(record.norm == plain.scaler.outcome().norm);
    CHECK(record.clip == plain.scaler.outcome().clip);
    CHECK(code.members[0]->weights(0) == plain.members[0]->weights(0));
  }
}

TEST_CASE("norms that are finite each, but not together, are an overflow of the joint norm only") {
  const engine& engine = any_engine();
  const bool clips_separately = GENERATE(false, true);
  CAPTURE(engine.profile_name(), clips_separately);
  const parts list{{{0x1.8p127f}}};  // the norm of two of them is 2.12 · 2^127: beyond FP32
  joint_training code(engine, {list, list}, 0);
  const step_record record = code.step({.max_norm = 1.0f, .clip_separately = clips_separately});
  CHECK(record.outcome == (clips_separately ? step_outcome::applied : step_outcome::norm_overflow));
  CHECK(code.is_untouched() == !clips_separately);
  CHECK(record.skipped_lists == (clips_separately ? 0 : 2));
}

TEST_CASE("an overflow of one list is no overflow of the joint norm, and backs off") {
  const engine& engine = any_engine();
  const float special = GENERATE(infinity, no_number);
  CAPTURE(engine.profile_name(), special);
  const parts good{{{8.0f, 8.0f}}}, bad{{{8.0f, special}}};
  joint_training code(engine, {good, bad}, 3);
  scaling_policy dynamic = code.scaler.policy();
  dynamic.mode = scaling_mode::dynamic;
  code.scaler.set_policy(dynamic);
  const step_record record = code.step({.max_norm = 1.0f});
  CHECK(record.outcome == (std::isinf(special) ? step_outcome::skipped_inf : step_outcome::skipped_nan));
  CHECK(record.status == step_status::ok);
  CHECK(record.next_scale == 4.0f);
  CHECK(code.is_untouched());
}

TEST_CASE("the norm of one joint step does not enter the next") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const parts three{{{3.0f}}}, four{{{4.0f}}};
  joint_training code(engine, {three, four}, 0);
  for (int i = 0; i < 3; ++i) CHECK(code.step({.max_norm = 1.0f}).norm == 5.0f);
}

TEST_CASE("other steps of the same update are joined to the norm of the record, but not clipped with it") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  joint_training code(engine, {parts{{{3.0f}}}, parts{{{4.0f}}}}, 0);
  adding_parts alone(engine, parts{{{12.0f}}}), unscaled(engine, parts{{{84.0f}}});
  code.scaler.begin_step();
  SECTION("a step before") {
    code.scaler.step(alone.get_optimizer());
    code.scaler.step(code.optimizers, {.max_norm = 2.5f});
    code.scaler.update();
    check_norm(code.scaler.outcome().norm, 13.0);
    CHECK(code.scaler.outcome().clip == 2.5f / (5.0f + 1e-6f));
    CHECK(alone.weights(0)[0] == 12.0f);
  }
  SECTION("gradients that were unscaled before keep their clip coefficient") {
    code.scaler.unscale(unscaled.get_optimizer(), {.max_norm = 42.0f});
    code.optimizers.push_back(&unscaled.get_optimizer());
    CHECK_THROWS_AS(code.scaler.step(code.optimizers, {.max_norm = 2.5f}), misuse_error);
    code.scaler.step(code.optimizers);
    code.scaler.update();
    CHECK(code.scaler.outcome().was_applied());
    check_norm(code.scaler.outcome().norm, std::hypot(84.0, 5.0));
    CHECK(code.members[0]->weights(0)[0] == 3.0f);
    check_norm(unscaled.weights(0)[0], 42.0);
  }
}

TEST_CASE("a spike of the joint norm skips all optimizers") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> first(engine.queue(), {3.0f}), second(engine.queue(), {4.0f});
  adding_optimizer a(engine, 1, first.data()), b(engine, 1, second.data());
  loss_scaler scaler(engine, {.init_scale = 1, .spike_threshold = 4, .spike_window = 4});
  const auto step = [&](float factor) {
    const float of_a = 3.0f, of_b = 4.0f * factor;
    engine.queue().memcpy(first.data(), &of_a, sizeof of_a).wait();
    engine.queue().memcpy(second.data(), &of_b, sizeof of_b).wait();
    scaler.begin_step();
    scaler.step(std::vector<optimizer*>{&a, &b}, {.max_norm = 100.0f});
    scaler.update();
    return scaler.outcome();
  };
  for (int i = 0; i < 8; ++i) CHECK(step(i % 2 == 0 ? 1.0f : 1.1f).was_applied());
  const float before = a.weight();
  CHECK(step(10.0f).outcome == step_outcome::skipped_by_user);
  CHECK(scaler.outcome().skipped_lists == 2);
  CHECK(a.weight() == before);
}

TEST_CASE("a joint step does not wait, and the joint norm costs no kernel") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const parts list{{{1.0f, 2.0f}}};
  joint_training code(engine, {list, list}, 0);
  code.step({.max_norm = 1.0f});
  const auto count = [&](bool clips_separately) {
    code.scaler.begin_step();
    const engine_statistics before = engine.statistics();
    code.scaler.step(code.optimizers, {.max_norm = 1.0f, .clip_separately = clips_separately});
    code.scaler.update();
    CHECK(engine.statistics().waits == before.waits);
    return engine.statistics().kernels_submitted - before.kernels_submitted;
  };
  // Of each list: two that inspect, one that reports, one that decides, one that applies. Then one that updates.
  CHECK(count(false) == 11);
  CHECK(count(true) == 11);
}

TEST_CASE("the joint norm is over all lists of all ranks") {
  const engine& engine = any_engine();
  const bool clips_separately = GENERATE(false, true);
  const std::uint32_t scales = GENERATE(1u, 2u);
  const int exponent = GENERATE(-70, 3, 70);
  CAPTURE(engine.profile_name(), clips_separately, scales, exponent);
  constexpr std::uint32_t ranks = 3;
  const auto lists_of = [&](std::uint32_t rank) {
    return std::vector<parts>{
        {{values_near(exponent, 501 + rank, 10 + rank), 0}, {values_near(exponent - 2, 67, 20 + rank), scales - 1}},
        {{values_near(exponent + 1, 300, 30 + rank), 0}}};
  };
  double own_squares[2] = {0, 0};
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (std::size_t i = 0; i < 2; ++i) own_squares[i] += sum_of_squares(lists_of(rank)[i], exponent);
  const double norm = std::sqrt(own_squares[0] + own_squares[1]), limit = 2.0;
  struct outcome {
    step_record record;
    std::unique_ptr<joint_training> code;
  };
  const auto outcomes = simulated_ranks(ranks).run([&](const consensus& rank) {
    auto code = std::make_unique<joint_training>(engine, lists_of(rank.rank), exponent,
                                                 scaler_options{.scales = scales, .consensus = rank});
    const step_record record = code->step({.max_norm = 2.0f, .clip_separately = clips_separately});
    return outcome{record, std::move(code)};
  });
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    CHECK(outcomes[rank].record.was_applied());
    check_norm(outcomes[rank].record.norm, norm);
    CHECK(std::bit_cast<std::uint32_t>(outcomes[rank].record.norm) ==
          std::bit_cast<std::uint32_t>(outcomes[0].record.norm));
    for (std::size_t i = 0; i < 2; ++i) {
      const double of_list = std::sqrt(own_squares[i]);
      const double clip = exact_clip(clips_separately ? of_list : norm, limit);
      check_weights(*outcomes[rank].code->members[i], lists_of(rank)[i], exponent, clip);
    }
  }
}
