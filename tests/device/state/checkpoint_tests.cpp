// SPDX-License-Identifier: Apache-2.0
// Training that is saved and loaded resumes as if it had never stopped.
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/devices.hpp"
#include "tests/support/optimizer_cases.hpp"
#include "tests/support/resumable_training.hpp"
#include "tests/support/state_equality.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/tensors.hpp"

using Catch::Matchers::ContainsSubstring;
using syclamp::element_type;
using syclamp::rounding;

namespace {

const std::vector<storage_case>& storages() {
  constexpr auto half = element_type::float16, bf16 = element_type::bfloat16, single = element_type::float32;
  static const std::vector<storage_case> all = {
      {"FP32, its own master", single, single, true, false},
      {"FP32, master without a model", single, single, false, true},
      {"FP16 with a master", half, half, true, false},
      {"FP16 with a master of the caller's", half, half, true, true},
      {"BF16 with a master", bf16, bf16, true, false},
      {"BF16 with remainders", bf16, bf16, true, false, {.remainders = true}},
      {"BF16 with remainders and BF16 moments", bf16, bf16, true, false, {.moments = bf16, .remainders = true}},
      {"FP8 with a master, BF16 moments", half, element_type::float8_e4m3, true, false, {.moments = bf16}},
  };
  return all;
}

const std::vector<storage_case>& stochastic_storages() {
  constexpr auto half = element_type::float16, bf16 = element_type::bfloat16;
  const syclamp::storage_options options{.moments = bf16, .rounding_mode = rounding::stochastic, .seed = 99};
  static const std::vector<storage_case> all = {
      {"FP16, at random", half, half, true, false, options},
      {"BF16, at random", bf16, bf16, true, false, options},
      {"FP8, at random", half, element_type::float8_e5m2, true, false, options},
      {"BF16 with remainders, at random",
       bf16,
       bf16,
       true,
       false,
       {.moments = bf16, .remainders = true, .rounding_mode = rounding::stochastic, .seed = 7}},
  };
  return all;
}

constexpr std::uint64_t steps_before = 7, steps_after = 6;  // steps 2, 5 and 12 overflow

const syclamp::scaling_policy policy{.init_scale = 1024, .growth_interval = 3};

void set_up(resumable_training& run) {
  run.optimizer.set_schedule({.kind = syclamp::lr_schedule::shape::cosine, .lowest = 0.1f, .warm_up = 3, .steps = 9});
  run.optimizer.set_lr(0.02, 1);
}

/// Anything but what is to be loaded.
void set_otherwise(resumable_training& run) {
  run.optimizer.set_lr(77);
  run.optimizer.set_schedule({.kind = syclamp::lr_schedule::shape::decay, .gamma = 0.5f, .steps = 1});
  run.step(0);
}

/// What does not depend on how sums are formed, which profiles and tensors change.
void check_same_decisions(const syclamp::scaler_snapshot& a, const syclamp::scaler_snapshot& b) {
  CHECK(same(a.policy, b.policy));
  REQUIRE(a.scales.size() == b.scales.size());
  CHECK(a.scales[0].scale == b.scales[0].scale);
  CHECK(a.scales[0].clean_steps == b.scales[0].clean_steps);
  CHECK(a.scales[0].attempted == b.scales[0].attempted);
  CHECK(a.scales[0].skipped == b.scales[0].skipped);
  REQUIRE(a.ledger.size() == b.ledger.size());
  for (std::size_t i = 0; i < a.ledger.size(); ++i) {
    const syclamp::step_record &x = a.ledger[i].record, &y = b.ledger[i].record;
    const auto numbers = [](const syclamp::step_record& record) {
      return std::tuple(record.step, record.outcome, record.status, record.scale, record.next_scale, record.applied,
                        record.skipped, record.amax, record.flags, record.elements, record.inf_count, record.nan_count,
                        record.zero_count, record.subnormal_count, record.lists);
    };
    CHECK(numbers(x) == numbers(y));
  }
}

struct journey {
  const syclamp::engine &from, &to;
  std::vector<cut> cut_before, cut_after;
  bool is_clipped = false;
};

/// Compares a run that resumes on another engine, with its tensors cut in another way, with an uninterrupted run.
void check_goes_on(const optimizer_case& test_case, const storage_case& storage, const journey& way) {
  CAPTURE(test_case.name, storage.name, way.from.profile_name(), way.to.profile_name());
  const temporary_folder folder;
  const auto file = folder.path() / "run.ckpt";
  const auto limit_of = [&](const device_scalar& limit) {
    return way.is_clipped ? syclamp::step_options{.max_norm = limit} : syclamp::step_options{};
  };
  resumable_training whole(way.from, test_case.settings, storage, way.cut_before, policy);
  const device_scalar limit_here(whole.engine, 0.05f);
  set_up(whole);
  for (std::uint64_t i = 0; i < steps_before; ++i) whole.step(i, limit_of(limit_here));
  const training_content at_half = whole.read();
  CHECK(at_half.steps[0] == steps_before - 2);
  const auto state_at_half = whole.scaler.state();
  syclamp::save_checkpoint(file, whole.parts(), "half");
  CHECK(whole.read() == at_half);  // saving changes nothing

  storage_case another_seed = storage;
  ++another_seed.options.seed;
  resumable_training second(way.to, test_case.settings, another_seed, way.cut_after, {}, -3.0);
  set_otherwise(second);
  REQUIRE_FALSE(second.read() == at_half);
  CHECK(syclamp::load_checkpoint(file, second.parts()) == "half");
  CHECK(second.read() == at_half);
  CHECK(same(second.scaler.state(), state_at_half));

  const device_scalar limit_there(second.engine, 0.05f);
  for (std::uint64_t i = steps_before; i < steps_before + steps_after; ++i) {
    whole.step(i, limit_of(limit_here));
    second.step(i, limit_of(limit_there));
  }
  CHECK(second.read() == whole.read());
  CHECK_FALSE(second.read() == at_half);
  check_same_decisions(second.scaler.state(), whole.scaler.state());
  if (way.is_clipped) CHECK(same(second.scaler.state(), whole.scaler.state()));
  CHECK(second.canaries_are_alive());
}

const syclamp::engine& here() { return all_engines().front(); }
const syclamp::engine& elsewhere() { return all_engines().back(); }

}  // namespace

TEST_CASE("checkpoint: every optimizer resumes bit for bit with another profile and other tensors") {
  REQUIRE(here().profile_name() != elsewhere().profile_name());
  for (const optimizer_case& test_case : optimizer_cases())
    for (const storage_case& storage : storages()) {
      check_goes_on(test_case, storage, {here(), elsewhere(), few_tensors(), many_tensors()});
      check_goes_on(test_case, storage, {elsewhere(), here(), many_tensors(), few_tensors()});
    }
}

// Norms, and so the coefficient of clipping and the steps of LAMB and NovoGrad, are sums whose order the profile and
// the tensors determine: they repeat bit for bit only if both are the same.
TEST_CASE("checkpoint: with norms, training resumes bit for bit if profile and tensors are the same") {
  auto cases = optimizer_cases();
  cases.insert(cases.end(), tensor_wise_cases().begin(), tensor_wise_cases().end());
  for (const optimizer_case& test_case : cases)
    for (const storage_case& storage : storages())
      check_goes_on(test_case, storage, {here(), here(), many_tensors(), many_tensors(), true});
}

TEST_CASE("checkpoint: stochastic rounding resumes bit for bit if the tensors are the same") {
  for (const char* name : {"momentum", "adamw", "lion"})
    for (const storage_case& storage : stochastic_storages())
      check_goes_on(optimizer_case_named(name), storage, {here(), elsewhere(), many_tensors(), many_tensors()});
}

TEST_CASE("checkpoint: copies that were rounded at random are the same with other tensors, too") {
  const temporary_folder folder;
  for (const storage_case& storage : stochastic_storages()) {
    CAPTURE(storage.name);
    resumable_training first(here(), syclamp::adamw{}, storage, few_tensors(), policy);
    for (std::uint64_t i = 0; i < 3; ++i) first.step(i);
    syclamp::save_checkpoint(folder.path() / "file", first.parts());
    resumable_training second(elsewhere(), syclamp::adamw{}, storage, many_tensors(), policy, -3.0);
    syclamp::load_checkpoint(folder.path() / "file", second.parts());
    CHECK(second.read() == first.read());
  }
}

TEST_CASE("checkpoint: weights go from any storage to any other, BF16 moments to FP32") {
  const temporary_folder folder;
  const auto file = folder.path() / "file";
  for (const storage_case& from : storages()) {
    resumable_training first(here(), syclamp::adamw{}, from, few_tensors(), policy);
    for (std::uint64_t i = 0; i < 3; ++i) first.step(i);
    syclamp::save_checkpoint(file, first.parts());
    const training_content saved = first.read();
    for (const storage_case& to : storages()) {
      CAPTURE(from.name, to.name);
      resumable_training second(here(), syclamp::adamw{}, to, many_tensors(), policy, -3.0);
      const training_content before = second.read();
      if (from.options.moments == element_type::float32 && to.options.moments == element_type::bfloat16) {
        CHECK_THROWS_WITH(syclamp::load_checkpoint(file, second.parts()),
                          ContainsSubstring("optimizer 0 has float32 moments, which would be rounded to bfloat16"));
        CHECK(second.read() == before);
        continue;
      }
      syclamp::load_checkpoint(file, second.parts());
      const training_content loaded = second.read();
      CHECK(loaded.weights == saved.weights);
      CHECK(loaded.moments == saved.moments);
      CHECK(loaded.steps == saved.steps);
      if (to.has_model && !to.options.remainders)
        for (std::uint64_t i = 0; i < loaded.model.size(); ++i) {
          const auto value = static_cast<double>(std::bit_cast<float>(saved.weights[i]));
          REQUIRE(loaded.model[i] == reference::encode(value, format_of(to.model)));
        }
    }
  }
}

TEST_CASE("checkpoint: tensors that are larger than a block") {
  constexpr std::uint64_t count = (std::uint64_t{1} << 20) + 77;
  const temporary_folder folder;
  const syclamp::engine& engine = here();
  const device_buffer<float> gradients(engine.queue(), std::vector<float>(2 * count, 1.0f));
  std::vector<float> content(2 * count);
  for (std::uint64_t i = 0; i < content.size(); ++i) content[i] = static_cast<float>(i);
  const device_buffer<float> values(engine.queue(), content), two(engine.queue(), std::vector<float>(2 * count));
  syclamp::fused_optimizer first(engine,
                                 {{.gradient = {gradients.data(), 2 * count}, .model = {values.data(), 2 * count}}},
                                 syclamp::sgd{.lr = 1, .momentum = 0.5});
  first.apply();
  syclamp::save_checkpoint(folder.path() / "file", {{&first}});
  syclamp::fused_optimizer second(
      engine,
      {{.gradient = {gradients.data(), 5}, .model = {two.data(), 5}},
       {.gradient = {gradients.data() + 5, 2 * count - 5}, .model = {two.data() + 5, 2 * count - 5}}},
      syclamp::sgd{.lr = 1, .momentum = 0.5});
  CHECK(syclamp::load_checkpoint(folder.path() / "file", {{&second}}).empty());
  CHECK(two.read() == values.read());
  first.apply();
  second.apply();
  CHECK(two.read() == values.read());
  CHECK(values.read()[count] == content[count] - 2.5f);
}

TEST_CASE("checkpoint: several optimizers, no scaler, notes of any bytes") {
  const temporary_folder folder;
  const auto file = folder.path() / "file";
  const storage_case& storage = storages().front();
  resumable_training a(here(), syclamp::adamw{}, storage, few_tensors()),
      b(here(), syclamp::lion{}, storage, few_tensors());
  a.step(0);
  b.step(1);
  std::string notes(syclamp::max_notes_bytes, '\0');
  for (std::size_t i = 0; i < notes.size(); ++i) notes[i] = static_cast<char>(i * 7);
  syclamp::save_checkpoint(file, {{&a.optimizer, &b.optimizer}}, notes);
  resumable_training c(here(), syclamp::adamw{}, storage, few_tensors(), {}, -1.0),
      d(here(), syclamp::lion{}, storage, many_tensors(), {}, -1.0);
  CHECK_THROWS_WITH(syclamp::load_checkpoint(file, {{&d.optimizer, &c.optimizer}}),
                    ContainsSubstring("optimizer 0 was saved by adamw (adam_step), but is loaded into lion"));
  CHECK(syclamp::load_checkpoint(file, {{&c.optimizer, &d.optimizer}}) == notes);
  CHECK(c.read() == a.read());
  CHECK(d.read() == b.read());
  CHECK_THROWS_WITH(syclamp::save_checkpoint(file, {{&a.optimizer}}, notes + "x"), ContainsSubstring("1048577 bytes"));
  CHECK_THROWS_WITH(syclamp::save_checkpoint(file, {{&a.optimizer, &a.optimizer}}), ContainsSubstring("listed twice"));
  CHECK_THROWS_AS(syclamp::save_checkpoint(file, {{nullptr}}), syclamp::invalid_argument);
  CHECK(syclamp::load_checkpoint(file, {{&c.optimizer, &d.optimizer}}) == notes);
}

TEST_CASE("checkpoint: hyper-parameters that a kernel has changed are saved; sources of learning rates are not") {
  const temporary_folder folder;
  const auto file = folder.path() / "file";
  const storage_case& storage = storages().front();
  resumable_training a(here(), syclamp::sgd{.lr = 0}, storage, few_tensors()),
      b(here(), syclamp::sgd{.lr = 0}, storage, few_tensors());
  a.engine.queue().fill(&a.optimizer.device_hyper_parameters(1)->lr, 0.25f, 1);
  const device_scalar lr(here(), 0.5f);
  b.optimizer.set_lr_source(lr.value(), 0);
  syclamp::save_checkpoint(file, a.parts());
  syclamp::load_checkpoint(file, b.parts());
  const training_content before = b.read();
  a.step(0);
  b.step(0);
  const training_content without = a.read(), with = b.read();
  CHECK(std::equal(without.weights.begin(), without.weights.begin() + 3000, before.weights.begin()));  // lr is 0 there
  CHECK_FALSE(std::equal(with.weights.begin(), with.weights.begin() + 3000, before.weights.begin()));
  CHECK(std::equal(without.weights.begin() + 3000, without.weights.end(), with.weights.begin() + 3000));
  b.optimizer.set_lr(0.25, 1);  // the host knows what was loaded: nothing to send
  a.step(1);
  b.step(1);
  CHECK(a.read().steps == b.read().steps);
  const training_content content = a.read(), two = b.read();
  CHECK(std::equal(content.weights.begin() + 3000, content.weights.end(), two.weights.begin() + 3000));
}

TEST_CASE("checkpoint: weights that lie exactly between two BF16 come back from remainders as they were") {
  const temporary_folder folder;
  const std::vector<std::uint32_t> ties = {0x3f808000, 0xbf818000, 0x00008000, 0x3f807fff, 0x3f808001, 0x7f7f8000};
  std::vector<float> weights;
  for (const std::uint32_t bits : ties) weights.push_back(std::bit_cast<float>(bits));
  const device_buffer<float> gradients(here().queue(), std::vector<float>(ties.size())), full(here().queue(), weights);
  const device_buffer<std::uint16_t> halves(here().queue(), std::vector<std::uint16_t>(ties.size()));
  syclamp::fused_optimizer first(
      here(), {{.gradient = {gradients.data(), ties.size()}, .model = {full.data(), ties.size()}}}, syclamp::sgd{});
  syclamp::fused_optimizer second(
      here(),
      {{.gradient = {gradients.data(), ties.size()}, .model = {halves.data(), ties.size(), element_type::bfloat16}}},
      syclamp::sgd{}, {.remainders = true});
  syclamp::save_checkpoint(folder.path() / "file", {{&first}});
  syclamp::load_checkpoint(folder.path() / "file", {{&second}});
  CHECK(second.weights(0) == weights);
  CHECK(halves.read() == std::vector<std::uint16_t>{0x3f81, 0xbf82, 0x0001, 0x3f80, 0x3f81, 0x7f80});
}
