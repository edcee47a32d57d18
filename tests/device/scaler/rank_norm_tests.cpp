// SPDX-License-Identifier: Apache-2.0
// Norms over ranks: a tensor that all ranks hold alike counts once, and an overflow counts wherever it is.
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/gradient_parts.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/simulated_ranks.hpp"

using namespace syclamp;

namespace {

constexpr std::uint32_t ranks = 3;

std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

struct rank_outcome {
  step_record record;
  std::unique_ptr<joint_training> code;
};

/// One step on every rank. `lists_of` returns the gradients of a rank, one list per optimizer. Optimizers without
/// others step alone.
template <typename Lists>
std::vector<rank_outcome> step_of_ranks(const engine& engine, int exponent, std::uint32_t scales,
                                        const step_options& options, Lists lists_of) {
  return simulated_ranks(ranks).run([&](const consensus& rank) {
    auto code = std::make_unique<joint_training>(engine, lists_of(rank.rank), exponent,
                                                 scaler_options{.scales = scales, .consensus = rank});
    if (code->optimizers.size() > 1) {
      const step_record record = code->step(options);
      return rank_outcome{record, std::move(code)};
    }
    code->scaler.begin_step();
    code->scaler.step(*code->optimizers[0], options);
    code->scaler.update();
    const step_record record = code->scaler.outcome();
    return rank_outcome{record, std::move(code)};
  });
}

/// The parts of a list that all ranks hold alike, or those that they do not.
gradient_parts replicated_parts(const gradient_parts& list, bool replicated) {
  gradient_parts found;
  for (const gradient_part& part : list)
    if (part.replicated == replicated) found.push_back(part);
  return found;
}

/// Unscaled squares over all ranks, replicated tensors once.
template <typename Lists>
double squares_over_ranks(Lists lists_of, std::size_t list, int exponent) {
  double sum = sum_of_squares(replicated_parts(lists_of(0)[list], true), exponent);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    sum += sum_of_squares(replicated_parts(lists_of(rank)[list], false), exponent);
  return sum;
}

}  // namespace

TEST_CASE("ranks that hold all gradients alike have the local norm, bit for bit") {
  const engine& engine = any_engine();
  const std::uint32_t scales = GENERATE(1u, 2u);
  CAPTURE(engine.profile_name(), scales);
  for (const int exponent : {-100, -62, -50, 0, 49, 55, 64, 100}) {
    CAPTURE(exponent);
    const auto lists_of = [&](std::uint32_t) {
      return std::vector<gradient_parts>{
          {{values_near(exponent, 2'001, 1), 0, true}, {values_near(exponent + 1, 68'000, 2), scales - 1, true}}};
    };
    joint_training alone(engine, lists_of(0), exponent, {.scales = scales});
    alone.scaler.begin_step();
    alone.scaler.step(*alone.optimizers[0], {.max_norm = 1.0f});
    alone.scaler.update();
    const step_record local = alone.scaler.outcome();
    check_norm(local.norm, std::sqrt(sum_of_squares(lists_of(0)[0], exponent)));
    for (const rank_outcome& rank : step_of_ranks(engine, exponent, scales, {.max_norm = 1.0f}, lists_of)) {
      CHECK(bits(rank.record.norm) == bits(local.norm));
      CHECK(bits(rank.record.clip) == bits(local.clip));
      CHECK(rank.record.elements == local.elements);
      CHECK(rank.code->members[0]->weights(1) == alone.members[0]->weights(1));
    }
  }
}

TEST_CASE("replicated tensors beside divided ones count in the norm once") {
  const engine& engine = any_engine();
  const std::uint32_t scales = GENERATE(1u, 3u);
  CAPTURE(engine.profile_name(), scales);
  for (const int exponent : {-70, 5, 70}) {
    CAPTURE(exponent);
    const std::uint32_t last = scales - 1;
    const auto lists_of = [&](std::uint32_t rank) {
      return std::vector<gradient_parts>{{{values_near(exponent, 1'001, 1), 0, true},
                                          {values_near(exponent, 500 + rank, 2 + rank), 0, false},
                                          {values_near(exponent + 2, 67'000, 11), last, true},
                                          {values_near(exponent + 2, 4'000, 12 + rank), last / 2, false}}};
    };
    const double norm = std::sqrt(squares_over_ranks(lists_of, 0, exponent));
    const auto outcomes = step_of_ranks(engine, exponent, scales, {.max_norm = 2.0f}, lists_of);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      CAPTURE(rank);
      const step_record& record = outcomes[rank].record;
      CHECK(record.was_applied());
      check_norm(record.norm, norm);
      CHECK(bits(record.norm) == bits(outcomes[0].record.norm));
      CHECK(bits(record.clip) == bits(outcomes[0].record.clip));
      if (scales == 1) CHECK(record.elements == 1'001 + 500 + rank + 67'000 + 4'000);
      check_weights(*outcomes[rank].code->members[0], lists_of(rank)[0], exponent, exact_clip(norm, 2.0));
    }
  }
}

TEST_CASE("joint steps of ranks count replicated tensors once") {
  const engine& engine = any_engine();
  const bool clips_separately = GENERATE(false, true);
  const std::uint32_t scales = GENERATE(1u, 2u);
  CAPTURE(engine.profile_name(), clips_separately, scales);
  constexpr int exponent = 6;
  // One list that all ranks hold alike, one that is divided, and one with both.
  const auto lists_of = [&](std::uint32_t rank) {
    return std::vector<gradient_parts>{
        {{values_near(exponent, 901, 1), 0, true}, {values_near(exponent, 31, 2), scales - 1, true}},
        {{values_near(exponent + 1, 700, 3 + rank), scales - 1, false}},
        {{values_near(exponent, 800, 11), 0, true}, {values_near(exponent, 66'000, 12 + rank), 0, false}}};
  };
  double squares = 0;
  for (std::size_t i = 0; i < 3; ++i) squares += squares_over_ranks(lists_of, i, exponent);
  const auto outcomes =
      step_of_ranks(engine, exponent, scales, {.max_norm = 2.0f, .clip_separately = clips_separately}, lists_of);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    check_norm(outcomes[rank].record.norm, std::sqrt(squares));
    for (std::size_t i = 0; i < 3; ++i) {
      const double own = squares_over_ranks(lists_of, i, exponent);
      const double clip = exact_clip(std::sqrt(clips_separately ? own : squares), 2.0);
      check_weights(*outcomes[rank].code->members[i], lists_of(rank)[i], exponent, clip);
    }
  }
}

TEST_CASE("an overflow in a replicated tensor of one rank skips the step of all ranks") {
  const engine& engine = any_engine();
  const float special = GENERATE(infinity, no_number);
  const std::uint32_t scales = GENERATE(1u, 2u);
  const bool is_mixed = GENERATE(false, true), is_joint = GENERATE(false, true);
  CAPTURE(engine.profile_name(), special, scales, is_mixed, is_joint);
  constexpr std::uint32_t bad_rank = 2;
  const auto lists_of = [&](std::uint32_t rank) {
    std::vector<gradient_parts> lists{
        {{{1.0f, rank == bad_rank ? special : 2.0f}, scales - 1, true}, {{3.0f}, 0, !is_mixed}}};
    if (is_joint) lists.push_back({{{4.0f}, 0, false}});
    return lists;
  };
  const auto outcomes = step_of_ranks(engine, 0, scales, {.max_norm = 1.0f}, lists_of);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank);
    const step_record record = outcomes[rank].code->scaler.outcome(scales - 1);
    CHECK(record.outcome == (std::isinf(special) ? step_outcome::skipped_inf : step_outcome::skipped_nan));
    CHECK(record.inf_count + record.nan_count == (rank == bad_rank ? 1 : 0));
    CHECK(outcomes[rank].code->is_untouched());
  }
}

TEST_CASE("sums of an accumulation window may be replicated") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto records = simulated_ranks(ranks).run([&](const consensus& rank) {
    const device_buffer<float> micro(engine.queue(), {3.0f, 4.0f});
    const tensor_list gradients(engine, {{micro.data(), 1, "", 0, true}, {micro.data() + 1, 1, "", 0, false}});
    adding_parts sums(engine, {{{0.0f}, 0, true}, {{0.0f}, 0, false}});
    loss_scaler scaler(engine, joint_training::fixed_at(0, 0), {.consensus = rank});
    scaler.begin_step();
    scaler.accumulate(gradients, sums.get_optimizer().gradients());
    scaler.step_accumulated(sums.get_optimizer(), {.max_norm = 100.0f});
    scaler.update();
    return scaler.outcome();
  });
  for (const step_record& record : records) check_norm(record.norm, std::sqrt(9.0 + 3 * 16.0));
}

TEST_CASE("replicated tensors are unscaled like all others, and enter the norm of unscale once") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto outcomes = simulated_ranks(ranks).run([&](const consensus& rank) {
    const gradient_parts list{{{24.0f}, 0, true}, {{32.0f}, 0, false}};
    auto code = std::make_unique<joint_training>(engine, std::vector<gradient_parts>{list}, 3,
                                                 scaler_options{.consensus = rank});
    code->scaler.begin_step();
    code->scaler.unscale(*code->optimizers[0]);
    code->scaler.step(*code->optimizers[0]);
    code->scaler.update();
    const step_record record = code->scaler.outcome();
    return rank_outcome{record, std::move(code)};
  });
  for (const rank_outcome& outcome : outcomes) {
    check_norm(outcome.record.norm, std::sqrt(9.0 + 3 * 16.0));
    CHECK(outcome.code->members[0]->weights(0)[0] == 3.0f);
    CHECK(outcome.code->members[0]->weights(1)[0] == 4.0f);
  }
}

TEST_CASE("an inspector adds replicated tensors like all others") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> memory(engine.queue(), {3.0f, 4.0f});
  const tensor_list list(engine, {{memory.data(), 1, "", 5, true}, {memory.data() + 1, 1, "", 7, false}});
  CHECK(list.is_replicated(0));
  CHECK(!list.is_replicated(1));
  CHECK(list.group(0) == 5);
  CHECK(list.groups() == 8);
  for (const inspection_level level : {inspection_level::list, inspection_level::tensors}) {
    const inspector inspector(list, level);
    inspector.run();
    CHECK(inspector.result().norm() == 5.0);
    if (level == inspection_level::tensors) CHECK(inspector.groups()[5].norm() == 3.0);
  }
}

TEST_CASE("a consensus must know its rank and its size") {
  const engine& engine = all_engines().front();
  const auto sum = [](sycl::queue&, float*, std::size_t) {};
  const auto refused = [&](const consensus& ranks, const char* message) {
    CHECK_THROWS_MATCHES(loss_scaler(engine, {}, {.consensus = ranks}), invalid_argument,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(message)));
  };
  refused({.sum = sum, .rank = 3, .size = 3}, "consensus.rank is 3, but consensus.size is 3");
  refused({.sum = sum, .rank = 0, .size = 0}, "consensus.size is 0");
  refused({.sum = {}, .rank = 1, .size = 2}, "consensus.sum is empty");
  CHECK_NOTHROW(loss_scaler(engine, {}, {.consensus = {.sum = sum, .rank = 2, .size = 3}}));
}
