// SPDX-License-Identifier: Apache-2.0
// One scaler for optimizers on several queues, devices and contexts.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/blocked_event.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr std::size_t elements = 3000;

sycl::device first_device() { return all_engines().front().queue().get_device(); }

/// An in-order queue of the context, or of a context of its own.
engine make_engine(const std::optional<sycl::context>& context) {
  const sycl::device device = first_device();
  return engine(sycl::queue{context ? *context : sycl::context(device), device, sycl::property::queue::in_order{}});
}

/// Where the parts of a model are: the scaler's queue first.
struct placement {
  const char* name;
  std::vector<engine> engines;
  std::uint64_t waits_per_step;
};

std::vector<placement> all_placements() {
  const sycl::context shared{first_device()};
  const auto in = [&](int count) {
    std::vector<engine> engines;
    for (int i = 0; i < count; ++i) engines.push_back(make_engine(shared));
    return engines;
  };
  placement mixed{"three contexts and a neighbour", in(2), 1};
  mixed.engines.push_back(make_engine({}));
  mixed.engines.push_back(make_engine({}));
  return {
      {"two queues of a context", in(2), 0}, {"two contexts", {make_engine({}), make_engine({})}, 1}, std::move(mixed)};
}

/// One part of a model: gradients that a test sets, and an optimizer, on a queue.
struct model_part {
  explicit model_part(const syclamp::engine& engine)
      : engine(engine),
        gradients(engine.queue(), std::vector<float>(elements, 0.0f)),
        optimizer(engine, elements, gradients.data()) {}

  /// Does not wait: the content stays until the next call, before which the test has waited for this one.
  sycl::event backward(float value, float special = 0.0f) {
    content.assign(elements, value);
    for (std::size_t i = 0; i < elements; ++i) content[i] *= 1.0f + static_cast<float>(i % 7);
    if (special != 0.0f) content[1234] = special;
    return engine.queue().memcpy(gradients.data(), content.data(), content.size() * sizeof(float));
  }

  syclamp::engine engine;
  std::vector<float> content;
  device_buffer<float> gradients;
  adding_optimizer optimizer;
};

/// A model of several parts, with one scaler on the first queue.
struct model {
  model(const std::vector<engine>& engines, const scaling_policy& policy, const scaler_options& options = {})
      : scaler(engines.front(), policy, options) {
    for (const engine& engine : engines) parts.push_back(std::make_unique<model_part>(engine));
    for (const auto& part : parts) {
      scaler.prepare(part->optimizer.gradients());
      all.push_back(&part->optimizer);
    }
  }

  void wait() const {
    for (const auto& part : parts) part->engine.wait();
  }

  std::vector<float> weights() const {
    wait();
    std::vector<float> values;
    for (const auto& part : parts)
      for (const std::size_t i : {std::size_t{0}, std::size_t{1234}, elements - 1})
        values.push_back(part->optimizer.weight(i));
    return values;
  }

  loss_scaler scaler;
  std::vector<std::unique_ptr<model_part>> parts;
  std::vector<optimizer*> all;
};

constexpr scaling_policy growing{.init_scale = 8, .growth_interval = 2};

/// A gradient of some step that is not finite: of which part, if any.
int bad_part(int step, std::size_t parts) { return step % 3 == 1 ? step % static_cast<int>(parts) : -1; }

/// \return the events of all parts
std::vector<sycl::event> backward(model& run, int step, float scale) {
  std::vector<sycl::event> events;
  for (std::size_t i = 0; i < run.parts.size(); ++i) {
    const bool is_bad = bad_part(step, run.parts.size()) == static_cast<int>(i);
    const float value = 0.125f * static_cast<float>(step + 1) * static_cast<float>(i + 1);
    events.push_back(run.parts[i]->backward(value * scale, !is_bad ? 0.0f : step % 2 == 0 ? infinity : no_number));
  }
  return events;
}

void require_same(const model& run, const model& other) {
  const auto records = run.scaler.ledger(), others = other.scaler.ledger();
  REQUIRE(records.size() == others.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    INFO("step " << i);
    CHECK(records[i].first_nonfinite_name == others[i].first_nonfinite_name);
    REQUIRE(std::memcmp(&records[i].record, &others[i].record, sizeof(step_record)) == 0);
  }
  const auto weights = run.weights(), expected = other.weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    REQUIRE(std::bit_cast<std::uint32_t>(weights[i]) == std::bit_cast<std::uint32_t>(expected[i]));
}

/// The same training on one queue and on several: the same bits, and no more waits than promised.
template <typename Step>
void require_same_bits(const placement& where, const scaling_policy& policy, const scaler_options& options,
                       std::uint64_t waits_per_step, Step step) {
  INFO(where.name);
  model together(std::vector<engine>(where.engines.size(), where.engines.front()), policy, options);
  model apart(where.engines, policy, options);
  constexpr int steps = 9;
  step(together, 0);
  step(apart, 0);
  for (int i = 1; i < steps; ++i) {
    step(together, i);
    const std::uint64_t before = where.engines.front().statistics().waits;
    step(apart, i);
    // One wait is that of the test, which reads the scale.
    CHECK(where.engines.front().statistics().waits - before == waits_per_step + 1);
  }
  together.wait();
  apart.wait();
  require_same(apart, together);
}

}  // namespace

TEST_CASE("a joint step on several queues has the bits of one queue, and waits once for other contexts") {
  for (const placement& where : all_placements())
    for (const bool is_clipped : {false, true})
      require_same_bits(where, growing, {}, where.waits_per_step, [&](model& run, int step) {
        const float scale = run.scaler.get_scale();
        run.scaler.begin_step();
        const auto events = backward(run, step, scale);
        // Events of several contexts cost one more wait, and the queues are in order.
        run.scaler.step(run.all, is_clipped ? step_options{.max_norm = 1.0f} : step_options{},
                        where.waits_per_step == 0 ? events : std::vector<sycl::event>{});
        run.scaler.update();
      });
}

TEST_CASE("single steps on several queues have the bits of one queue") {
  for (const placement& where : all_placements()) {
    std::uint64_t foreign = 0;
    for (const engine& engine : where.engines)
      foreign += engine.queue().get_context() != where.engines.front().queue().get_context();
    require_same_bits(where, {.init_scale = 8, .growth_interval = 2, .clear_on_skip = true}, {}, foreign,
                      [](model& run, int step) {
                        const float scale = run.scaler.get_scale();
                        run.scaler.begin_step();
                        backward(run, step, scale);
                        for (optimizer* each : run.all) run.scaler.step(*each, {.max_norm = 2.0f});
                        run.scaler.update();
                      });
  }
}

TEST_CASE("one bad list on another queue skips a joint step on all of them") {
  for (const placement& where : all_placements()) {
    INFO(where.name);
    model run(where.engines, growing);
    for (std::size_t bad = 0; bad < run.parts.size(); ++bad) {
      run.scaler.begin_step();
      for (std::size_t i = 0; i < run.parts.size(); ++i) run.parts[i]->backward(1.0f, i == bad ? infinity : 0.0f);
      run.scaler.step(run.all);
      run.scaler.update();
      CHECK(run.scaler.outcome().outcome == step_outcome::skipped_inf);
    }
    for (const float weight : run.weights()) CHECK(weight == 0.0f);
    CHECK(run.scaler.get_scale() < 8.0f);
  }
}

TEST_CASE("gradients of other queues are unscaled, clipped by hand and applied with the bits of one queue") {
  for (const placement& where : all_placements()) {
    std::uint64_t foreign = 0;
    for (const engine& engine : where.engines)
      foreign += engine.queue().get_context() != where.engines.front().queue().get_context();
    // One wait to unscale each list, and one for each step.
    require_same_bits(where, growing, {}, 2 * foreign, [](model& run, int step) {
      const float scale = run.scaler.get_scale();
      run.scaler.begin_step();
      backward(run, step, scale);
      for (optimizer* each : run.all) {
        const unscaled_gradients unscaled = run.scaler.unscale(*each, {.max_norm = 50.0f});
        clip_by_value(unscaled, 0.5f);
      }
      for (optimizer* each : run.all) run.scaler.step(*each);
      run.scaler.update();
    });
  }
}

TEST_CASE("losses of other queues are scaled, and gradients accumulated, with the bits of one queue") {
  for (const placement& where : all_placements()) {
    INFO(where.name);
    model together(std::vector<engine>(where.engines.size(), where.engines.front()), growing),
        apart(where.engines, growing);
    std::vector<float> weights;
    for (model* run : {&together, &apart}) {
      model_part& part = *run->parts.back();
      const device_buffer<float> sum(part.engine.queue(), std::vector<float>(elements));
      adding_optimizer optimizer(part.engine, elements, sum.data());
      for (int batch = 0; batch < 4; ++batch) {
        run->wait();
        part.backward(1.0f + static_cast<float>(batch), batch == 1 ? infinity : 0.0f);
        run->scaler.scale(part.optimizer.gradients());  // stands for a loss and its backward pass
        run->scaler.accumulate(part.optimizer.gradients(), optimizer.gradients());
        run->scaler.update();
      }
      run->scaler.begin_step();
      run->scaler.step_accumulated(optimizer, {.max_norm = 3.0f});
      run->scaler.update();
      run->wait();
      weights.push_back(optimizer.weight(5));
    }
    CHECK(weights[0] > 0.0f);
    CHECK(std::bit_cast<std::uint32_t>(weights[1]) == std::bit_cast<std::uint32_t>(weights[0]));
    require_same(apart, together);
  }
}

TEST_CASE("flags of the user, and numbers that are invalid on another queue, skip steps there") {
  for (const placement& where : all_placements()) {
    INFO(where.name);
    model run(where.engines, growing);
    const auto step = [&] {
      run.scaler.begin_step();
      for (const auto& part : run.parts) part->backward(1.0f);
      run.scaler.step(run.all);
      run.scaler.update();
      return run.scaler.outcome().outcome;
    };
    where.engines.front().queue().fill(run.scaler.device_user_flags(), std::uint32_t{found_by_user}, 1);
    CHECK(step() == step_outcome::skipped_by_user);
    // A limit in device memory of the scaler.
    const device_buffer<float> limit(where.engines.front().queue(), {no_number});
    run.scaler.begin_step();
    run.scaler.step(*run.all.back(), {.max_norm = device_value(where.engines.front(), limit.data())});
    run.scaler.update();
    CHECK(run.scaler.outcome().outcome == step_outcome::invalid_number);
    // A learning rate in device memory of the last optimizer.
    const device_buffer<float> rate(where.engines.back().queue(), {no_number});
    run.parts.back()->optimizer.inside().set_lr_source(device_value(where.engines.back(), rate.data()));
    CHECK(step() == step_outcome::invalid_number);
    run.parts.back()->optimizer.inside().set_lr_source(std::nullopt);
    for (const float weight : run.weights()) CHECK(weight == 0.0f);
    CHECK(step() == step_outcome::applied);
    for (const float weight : run.weights()) CHECK(weight > 0.0f);
  }
}

namespace {

struct throwing_optimizer final : optimizer {
  explicit throwing_optimizer(optimizer& inside) : inside(inside) {}
  const tensor_list& gradients() const override { return inside.gradients(); }
  sycl::event apply(const step_inputs&) override { throw std::runtime_error("refused"); }
  optimizer& inside;
};

}  // namespace

TEST_CASE("an optimizer on another queue that throws is not recorded as applied") {
  for (const placement& where : all_placements()) {
    INFO(where.name);
    model run(where.engines, growing);
    throwing_optimizer last(*run.all.back());
    run.scaler.begin_step();
    for (const auto& part : run.parts) part->backward(1.0f);
    CHECK_THROWS_AS(run.scaler.step(last), std::runtime_error);
    run.scaler.update();
    CHECK(run.scaler.outcome().outcome == step_outcome::skipped_by_user);
    CHECK(run.scaler.get_scale() == 8.0f);
  }
}

TEST_CASE("the ledger names a tensor of another queue") {
  for (const placement& where : all_placements()) {
    model run(where.engines, growing);
    run.scaler.begin_step();
    for (const auto& part : run.parts) part->backward(1.0f);
    run.parts.back()->backward(1.0f, no_number);
    run.scaler.step(run.all);
    run.scaler.update();
    run.wait();
    REQUIRE(run.scaler.ledger().size() == 1);
    CHECK(run.scaler.ledger().front().first_nonfinite_name == "weight");
    CHECK(run.scaler.ledger().front().record.first_nonfinite == 1234);
  }
}

TEST_CASE("several scales work on several queues") {
  for (const placement& where : all_placements())
    require_same_bits(where, growing, {.scales = 2, .skip_together = false}, where.waits_per_step,
                      [&](model& run, int step) {
                        const float scale = run.scaler.get_scale();
                        run.scaler.begin_step();
                        backward(run, step, scale);
                        run.scaler.step(run.all);
                        run.scaler.update();
                      });
}

TEST_CASE("queues of one context are ordered by events while the backward pass still runs") {
  const sycl::context context{first_device()};
  const engine home = make_engine(context), other = make_engine(context);
  model run({home, other}, growing);
  run.scaler.begin_step();
  for (const auto& part : run.parts) part->backward(infinity);
  run.scaler.step(run.all);
  run.scaler.update();  // everything is compiled
  run.wait();
  const std::uint64_t waits = home.statistics().waits + other.statistics().waits;
  std::vector<float> content(elements, 4.0f);
  blocked_event slow(sycl::queue{context, first_device()});
  run.scaler.begin_step();
  const std::vector<sycl::event> backward{
      home.queue().memcpy(run.parts[0]->gradients.data(), content.data(), elements * sizeof(float)),
      other.queue().submit([&](sycl::handler& handler) {
        handler.depends_on(slow);
        handler.memcpy(run.parts[1]->gradients.data(), content.data(), elements * sizeof(float));
      })};
  run.scaler.step(run.all);
  const sycl::event moved = run.scaler.update();
  CHECK_FALSE(is_complete(moved));
  CHECK(home.statistics().waits + other.statistics().waits == waits);
  slow.release();

  for (const float weight : run.weights()) CHECK(weight == 1.0f);
  CHECK(run.scaler.outcome().applied == 1);
}

TEST_CASE("steps across queues are not recorded") {
  for (const placement& where : all_placements()) {
    INFO(where.name);
    model run(where.engines, growing);
    const auto calls = [&] {
      run.scaler.begin_step();
      run.scaler.step(run.all);
      run.scaler.update();
    };
#if defined(SYCL_EXT_ONEAPI_GRAPH)
    CHECK_THROWS_MATCHES(recorded_step(where.engines.front(), calls), misuse_error,
                         MessageMatches(ContainsSubstring("another queue") && ContainsSubstring("recorded")));
#endif
    CHECK_NOTHROW(calls());  // as if nothing had been tried
  }
}

// --- Parts of a device ---

TEST_CASE("a scaler of a whole device serves a part of it, and the other way round") {
  const sycl::device device = first_device();
  constexpr auto equally = sycl::info::partition_property::partition_equally;
  const auto units = device.get_info<sycl::info::device::max_compute_units>();
  const auto ways = device.get_info<sycl::info::device::partition_properties>();
  if (units < 2 || std::find(ways.begin(), ways.end(), equally) == ways.end() ||
      device.get_info<sycl::info::device::partition_max_sub_devices>() < 2)
    SKIP("the device has no parts");
  const sycl::device part = device.create_sub_devices<equally>(units / 2).front();
  const sycl::context context(std::vector<sycl::device>{device, part});
  const engine whole(sycl::queue{context, device, sycl::property::queue::in_order{}}),
      smaller(sycl::queue{context, part, sycl::property::queue::in_order{}});
  for (const bool is_part_home : {false, true})
    require_same_bits(
        {"a device and its part", is_part_home ? std::vector{smaller, whole} : std::vector{whole, smaller}, 0}, growing,
        {}, 0, [&](model& run, int step) {
          const float scale = run.scaler.get_scale();
          run.scaler.begin_step();
          backward(run, step, scale);
          run.scaler.step(run.all);
          run.scaler.update();
        });
}
