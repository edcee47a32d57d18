// SPDX-License-Identifier: Apache-2.0
// Every operation begins after its dependencies, does not let the host wait for them, and returns an event.
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/matrix/matrix.hpp"
#include "syclamp/nn/nn.hpp"
#include "tests/support/blocked_event.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/scaled_training.hpp"

using namespace syclamp;
using namespace syclamp::matrix;
using namespace syclamp::nn;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

using events = std::vector<sycl::event>;

sycl::queue out_of_order_queue() { return sycl::queue{all_engines().front().queue().get_device()}; }

struct operation {
  const char* name;
  std::function<sycl::event(const events&)> call;
};

/// Memory for every operation, with elements or without.
struct operands {
  operands(const engine& engine, std::uint64_t rows, std::uint64_t columns)
      : engine(engine),
        memory(engine.queue(), std::vector<float>(16 * 64, 1.0f)),
        words(engine.queue(), std::vector<std::uint32_t>(64, 0)),
        clipping(engine.queue(), std::vector<clip_result>(1)),
        m(view(0, rows, columns)),
        other(view(1, rows, columns)),
        square(view(2, columns, columns)),
        row(memory.data() + 3 * 64, columns),
        statistics{memory.data() + 4 * 64, memory.data() + 5 * 64},
        loss{memory.data() + 6 * 64, memory.data() + 7 * 64},
        list(engine, array_view(memory.data() + 8 * 64, rows * columns)),
        out(engine, array_view(memory.data() + 9 * 64, rows * columns)),
        inspected(list, inspection_level::tensors),
        scales(list, 127.0f, {}),
        optimizer(engine,
                  {{.gradient = {memory.data() + 10 * 64, rows * columns},
                    .model = {memory.data() + 11 * 64, rows * columns}}},
                  sgd{.lr = 1}),
        scaler(engine),
        guard(engine) {}

  matrix_view view(std::size_t index, std::uint64_t rows, std::uint64_t columns) const {
    return {memory.data() + index * 64, rows, columns};
  }

  const syclamp::engine& engine;
  device_buffer<float> memory;
  device_buffer<std::uint32_t> words;
  device_buffer<clip_result> clipping;
  matrix_view m, other, square;
  array_view row;
  row_statistics statistics;
  loss_values loss;
  tensor_list list, out;
  inspector inspected;
  delayed_scaling scales;
  fused_optimizer optimizer;
  loss_scaler scaler;
  spike_guard guard;
};

/// All that can work on nothing.
std::vector<operation> list_operations(operands& x) {
  const engine& engine = x.engine;
  return {
      {"cast", [&](const events& after) { return cast(x.list, x.out, {}, after); }},
      {"saturating cast", [&](const events& after) { return cast(x.list, x.out, {.saturate = true}, after); }},
      {"scale", [&](const events& after) { return scale(x.list, x.out, 2.0f, after); }},
      {"unscale", [&](const events& after) { return unscale(x.list, x.out, 2.0f, after).done(); }},
      {"accumulate", [&](const events& after) { return accumulate(x.list, x.out, 2.0f, nullptr, after).done(); }},
      {"clear_gradients", [&](const events& after) { return clear_gradients(x.out, nullptr, after); }},
      {"clip", [&](const events& after) { return clip(unscale(x.list, x.out, 2.0f), x.clipping.data(), after); }},
      {"clip_by_group",
       [&](const events& after) { return clip_by_group(unscale(x.list, x.out, 2.0f), x.clipping.data(), after); }},
      {"clip_by_value", [&](const events& after) { return clip_by_value(unscale(x.list, x.out, 2.0f), 1.0f, after); }},
      {"inspector", [&](const events& after) { return x.inspected.run({}, after); }},
      {"inspector::unscale", [&](const events& after) { return x.inspected.unscale(x.out, 2.0f, after).done(); }},
      {"delayed_scaling", [&](const events& after) { return x.scales.update(x.inspected, after); }},
      {"fake_quantize", [&](const events& after) { return fake_quantize(x.list, x.out, x.scales, after); }},
      {"fake_quantize_gradient",
       [&](const events& after) { return fake_quantize_gradient(x.list, x.out, x.out, x.scales, after); }},
      {"optimizer", [&](const events& after) { return x.optimizer.apply(after); }},
      {"gemm", [&](const events& after) { return gemm(engine, x.m, x.square, x.other, {}, after); }},
      {"linear",
       [&](const events& after) { return linear(engine, x.m, x.square, {}, x.other, activation::none, {}, after); }},
      {"linear_backward",
       [&](const events& after) { return linear_backward(engine, x.m, x.square, x.other, {}, {}, after); }},
      {"sum_rows", [&](const events& after) { return sum_rows(engine, x.m, x.row, after); }},
      {"activate", [&](const events& after) { return activate(engine, x.m, x.other, activation::relu, {}, after); }},
      {"activate_backward",
       [&](const events& after) {
         return activate_backward(engine, x.m, x.other, x.other, activation::relu, {}, after);
       }},
      {"layer_norm",
       [&](const events& after) { return layer_norm(engine, x.m, x.row, x.row, x.other, x.statistics, 1e-5f, after); }},
      {"layer_norm_backward",
       [&](const events& after) {
         return layer_norm_backward(engine, x.m, x.row, x.other, x.statistics, x.other, x.row, x.row, after);
       }},
  };
}

/// Those that need a matrix, or belong to a scaler.
std::vector<operation> other_operations(operands& x) {
  const engine& engine = x.engine;
  const auto make_step = [&](recording mode) {
    return std::make_shared<recorded_step>(engine, [&] { clear_gradients(x.out); }, mode);
  };
  const auto recorded = make_step(recording::if_possible), direct = make_step(recording::never);
  return {
      {"softmax_cross_entropy",
       [&](const events& after) {
         return softmax_cross_entropy(engine, x.m, x.words.data(), x.loss, {}, 1.0f, after);
       }},
      {"mean_squared_error",
       [&](const events& after) { return mean_squared_error(engine, x.m, x.other, x.loss, {}, 1.0f, after); }},
      {"spike_guard", [&](const events& after) { return x.guard.check({engine, x.loss.mean}, x.scaler, after); }},
      {"scaler::scale", [&](const events& after) { return x.scaler.scale(x.list, after); }},
      {"begin_step", [&](const events& after) { return x.scaler.begin_step(after), x.scaler.scale_ready(); }},
      {"scaler::step",
       [&](const events& after) {
         x.scaler.begin_step();
         const sycl::event done = x.scaler.step(x.optimizer, {}, after);
         x.scaler.update();
         return done;
       }},
      {"scaler::update",
       [&](const events& after) {
         x.scaler.begin_step();
         x.scaler.step(x.optimizer);
         return x.scaler.update(after);
       }},
      {"scaler::resume", [&](const events& after) { return x.scaler.resume(after); }},
      {"recorded_step", [recorded](const events& after) { return (*recorded)(after); }},
      {"a step that is not recorded", [direct](const events& after) { return (*direct)(after); }},
  };
}

void require_order(const engine& engine, const std::vector<operation>& operations) {
  sycl::queue elsewhere = out_of_order_queue(), unrelated = out_of_order_queue();
  const device_buffer<float> word(unrelated, {0.0f});
  for (const operation& operation : operations) {
    INFO(operation.name);
    operation.call({});  // kernels are compiled
    engine.wait();
    blocked_event slow(elsewhere);
    const sycl::event done = operation.call({slow});
    unrelated.memset(word.data(), 0, sizeof(float)).wait();  // time for an operation that does not wait
    CHECK_FALSE(is_complete(done));
    slow.release();
    sycl::event(done).wait();
    engine.wait();
  }
}

}  // namespace

TEST_CASE("every operation begins after its dependencies, without a wait of the host") {
  const engine engine;
  operands x(engine, 4, 8);

  require_order(engine, list_operations(x));
  require_order(engine, other_operations(x));
}

TEST_CASE("the event of an operation on nothing is complete only when its dependencies are") {
  const engine engine;
  operands x(engine, 0, 0);

  require_order(engine, list_operations(x));
}

// --- Out-of-order queues ---

namespace {

/// Gradients that a backward pass on the host writes, in memory that both can see.
struct event_ordered_training {
  static constexpr std::size_t elements = 1000;

  explicit event_ordered_training(const sycl::queue& queue)
      : engine(queue),
        gradients(sycl::malloc_host<float>(elements, queue), [queue](float* memory) { sycl::free(memory, queue); }),
        optimizer(engine, elements, gradients.get()),
        scaler(engine, {.init_scale = 8, .growth_interval = 1}) {
    std::fill_n(gradients.get(), elements, infinity);  // to be found by a step that is too early
    scaler.prepare(optimizer.gradients());
  }

  std::function<void()> backward(const float* scale, float value) {
    return [this, scale, value] { std::fill_n(gradients.get(), elements, value * *scale); };
  }

  syclamp::engine engine;
  std::shared_ptr<float> gradients;
  adding_optimizer optimizer;
  loss_scaler scaler;
};

bool has_host_visible_scale(const engine& engine) { return engine.queue().get_device().is_cpu(); }

}  // namespace

TEST_CASE("an engine on an out-of-order queue has an in-order queue of its own in the same context") {
  const sycl::queue queue = out_of_order_queue();
  const engine beside(queue), on_it(sycl::queue{queue.get_device(), sycl::property::queue::in_order{}});

  CHECK(beside.is_ordered_by_events());
  CHECK(beside.queue().is_in_order());
  CHECK(beside.queue() != queue);
  CHECK(beside.queue().get_context() == queue.get_context());
  CHECK(beside.queue().get_device() == queue.get_device());
  CHECK_FALSE(on_it.is_ordered_by_events());
}

TEST_CASE("steps wait for a slow backward pass on an out-of-order queue, and the host does not") {
  sycl::queue queue = out_of_order_queue();
  event_ordered_training run(queue);
  if (!has_host_visible_scale(run.engine)) SKIP("the backward pass of this test reads device memory on the host");
  const std::uint64_t waits = run.engine.statistics().waits;
  // The scale of the second step is that of the first update, which comes after the first backward pass.
  const float* scale = run.scaler.begin_step();
  CHECK(is_complete(run.scaler.scale_ready()));
  blocked_event first(queue, run.backward(scale, 1.0f));
  const sycl::event stepped = run.scaler.step(run.optimizer, {}, {first});
  run.scaler.update();
  run.scaler.begin_step();
  const sycl::event second = queue.submit([&](sycl::handler& handler) {
    handler.depends_on({stepped, run.scaler.scale_ready()});
    handler.host_task(run.backward(scale, 2.0f));
  });
  sycl::event done = run.scaler.step(run.optimizer, {}, {second});
  CHECK_FALSE(is_complete(stepped));
  CHECK_FALSE(is_complete(run.scaler.scale_ready()));
  run.scaler.update();
  CHECK(run.engine.statistics().waits == waits);
  first.release();

  CHECK(run.scaler.get_scale() == 32.0f);
  CHECK(run.optimizer.weight() == 3.0f);
  CHECK(run.scaler.outcome().applied == 2);
  done.wait();
}

TEST_CASE("calls that read gradients need dependencies on an out-of-order queue, and say which") {
  event_ordered_training run(out_of_order_queue());
  const tensor_list& gradients = run.optimizer.gradients();
  const device_buffer<float> memory(run.engine.queue(), std::vector<float>(run.elements, 0.0f));
  const tensor_list sum(run.engine, array_view(memory.data(), run.elements));
  optimizer* const both[] = {&run.optimizer};
  run.scaler.begin_step();
  const auto refused = MessageMatches(ContainsSubstring("out-of-order queue"));

  CHECK_THROWS_MATCHES(run.scaler.step(run.optimizer), misuse_error, refused);
  CHECK_THROWS_MATCHES(run.scaler.step(run.optimizer), misuse_error,
                       MessageMatches(ContainsSubstring("events of the backward pass")));
  CHECK_THROWS_MATCHES(run.scaler.step(both), misuse_error, refused);
  CHECK_THROWS_MATCHES(run.scaler.unscale(run.optimizer), misuse_error, refused);
  CHECK_THROWS_MATCHES(run.scaler.unscale(gradients), misuse_error, refused);
  CHECK_THROWS_MATCHES(run.scaler.inspect(gradients), misuse_error, refused);
  CHECK_THROWS_MATCHES(run.scaler.accumulate(gradients, sum), misuse_error, refused);
  CHECK_THROWS_MATCHES(run.scaler.step_accumulated(run.optimizer), misuse_error, refused);
  CHECK_NOTHROW(run.scaler.unscale(run.optimizer, {}, {run.scaler.scale_ready()}));
}

TEST_CASE("a recorded step on an out-of-order queue takes the dependencies of its calls") {
  for (const recording mode : {recording::if_possible, recording::never}) {
    sycl::queue queue = out_of_order_queue();
    event_ordered_training run(queue);
    if (!has_host_visible_scale(run.engine)) SKIP("the backward pass of this test reads device memory on the host");
    recorded_step step(
        run.engine,
        [&] {
          run.scaler.begin_step();
          run.scaler.step(run.optimizer);
          run.scaler.update();
        },
        mode);
    CHECK_THROWS_MATCHES(step(), misuse_error, MessageMatches(ContainsSubstring("out-of-order")));
    const float* scale = run.scaler.device_scale();
    blocked_event first(queue, run.backward(scale, 1.0f));
    const sycl::event stepped = step({first}), scale_ready = run.scaler.scale_ready();
    const sycl::event second = queue.submit([&](sycl::handler& handler) {
      handler.depends_on({stepped, scale_ready});
      handler.host_task(run.backward(scale, 2.0f));
    });
    step({second});
    CHECK_FALSE(is_complete(stepped));
    first.release();

    CHECK(run.scaler.get_scale() == 32.0f);
    CHECK(run.optimizer.weight() == 3.0f);
  }
}
