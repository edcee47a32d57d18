// SPDX-License-Identifier: Apache-2.0
// Lists that come and go: a scaler keeps nothing of those that nobody holds, but the names that its ledger tells.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "engine/device_memory.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

void inspect_once(loss_scaler& scaler, const tensor_list& list) {
  scaler.begin_step();
  scaler.inspect(list);
  scaler.update();
}

}  // namespace

TEST_CASE("a scaler holds a bounded number of lists, however many it has seen", "[lists]") {
  const engine& engine = all_engines().front();
  loss_scaler scaler(engine, {.init_scale = 4}, {.ledger = 16});
  const device_buffer<float> memory(engine.queue(), {4.0f, infinity});
  const tensor_list held(engine, array_view(memory.data(), 1));
  inspect_once(scaler, held);
  std::uint64_t most = 0, first = 0;
  constexpr int lists = 3000;
  for (int i = 0; i < lists; ++i) {
    const bool is_bad = i % 3 == 0;
    const tensor_list list(engine, {{memory.data() + (is_bad ? 1 : 0), 1, "tensor of list " + std::to_string(i)}});
    inspect_once(scaler, list);
    const std::uint64_t now = live_arrays_counter();
    if (i == 10) first = now;
    if (i >= 10) most = std::max(most, now);
  }
  CHECK(most == first);
  inspect_once(scaler, held);
  CHECK(scaler.outcome().was_applied());

  // All records that are there have their names, though the lists are gone.
  const auto ledger = scaler.ledger();
  REQUIRE(ledger.size() == 16);
  for (const ledger_entry& entry : ledger) {
    const int list = static_cast<int>(entry.record.step) - 2;
    const bool is_bad = list < lists && list % 3 == 0;
    CAPTURE(list);
    CHECK(entry.first_nonfinite_name == (is_bad ? "tensor of list " + std::to_string(list) : ""));
  }
}

TEST_CASE("a scaler inspects lists in which only some types are those of gradients", "[lists]") {
  const engine& engine = any_engine();
  constexpr std::uint64_t count = 70'000;
  const device_buffer<float> singles(engine.queue(), std::vector<float>(count, 1.0f));
  const device_buffer<std::uint8_t> bytes(engine.queue(), {0x00, 0x38, 0x7f, 0x01});  // E4M3: 0, 1, NaN, subnormal
  const bool is_first = GENERATE(true, false);
  CAPTURE(is_first);
  const tensor gradient{.data = array_view(singles.data(), count)};
  const tensor other{.data = array_view(bytes.data(), 4, element_type::float8_e4m3)};
  const tensor_list list(engine, is_first ? std::vector{other, gradient} : std::vector{gradient, other});
  loss_scaler scaler(engine, {.init_scale = 4});
  scaler.begin_step();
  scaler.inspect(list);
  scaler.update();
  const step_record record = scaler.outcome();
  CHECK(record.elements == count + 4);
  CHECK(record.nan_count == 1);
  CHECK(record.inf_count == 0);
  CHECK(record.zero_count == 1);
  CHECK(record.subnormal_count == 1);
  CHECK(record.first_nonfinite_tensor == (is_first ? 0u : 1u));
  CHECK(record.first_nonfinite == 2);
}

TEST_CASE("a list that is dropped in the middle of a step is kept until its record is written", "[lists]") {
  const engine& engine = all_engines().front();
  loss_scaler scaler(engine, {.init_scale = 4});
  const device_buffer<float> memory(engine.queue(), {4.0f, infinity}), sums(engine.queue(), {0.0f});
  const tensor_list sum(engine, array_view(sums.data(), 1));
  const auto add = [&](std::size_t place, const char* name) {
    scaler.accumulate(tensor_list(engine, {{memory.data() + place, 1, name}}), sum);
  };
  scaler.begin_step();
  add(1, "the bad one");
  for (int i = 0; i < 5; ++i) add(0, "a good one");
  scaler.update();
  for (int i = 0; i < 5; ++i) {
    scaler.begin_step();
    add(0, "another one");
    scaler.update();
  }
  engine.wait();
  CHECK(scaler.ledger().front().first_nonfinite_name == "the bad one");
  CHECK(sums.read()[0] > 0.0f);
}

TEST_CASE("a decision stays until the update, whether the list is held or not", "[lists]") {
  const engine& engine = all_engines().front();
  loss_scaler scaler(engine, {.init_scale = 4});
  const device_buffer<float> memory(engine.queue(), {4.0f, infinity});
  scaler.begin_step();
  const step_decision* bad = scaler.inspect(tensor_list(engine, array_view(memory.data() + 1, 1)));
  const step_decision* good = scaler.inspect(tensor_list(engine, array_view(memory.data(), 1)));
  std::vector<step_decision> read(2);
  engine.queue().memcpy(&read[0], bad, sizeof(step_decision));
  engine.queue().memcpy(&read[1], good, sizeof(step_decision)).wait();
  CHECK(read[0].apply == 0);
  CHECK(read[1].apply == 1);
  scaler.update();
}

TEST_CASE("a list that a recorded step uses stays, though nobody else holds it", "[lists]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  loss_scaler scaler(engine, {.init_scale = 4, .growth_interval = 1});
  const device_buffer<float> memory(engine.queue(), {4.0f});
  std::optional<tensor_list> list(std::in_place, engine, array_view(memory.data(), 1));
  scaler.prepare(*list);
  recorded_step step(engine, [&] {
    scaler.begin_step();
    if (list) scaler.inspect(*list);
    scaler.update();
  });
  if (!step.is_recorded()) SKIP("the device has no graphs");
  list.reset();
  for (int i = 0; i < 20; ++i) {
    const tensor_list other(engine, array_view(memory.data(), 1));
    scaler.prepare(other);
  }
  step();
  engine.wait();
  CHECK(scaler.outcome().elements == 1);
  CHECK(scaler.get_scale() == 8.0f);
}
