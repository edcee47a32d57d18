// Trains a small model twice on the same data. The first run submits the kernels of each step one by one. The second
// run records a step once, from the forward pass to the new scale, and then submits the recording for each step. The
// recording is a SYCL graph, if the device supports graphs. Both runs give the same bits. Recording saves host time,
// which dominates the steps of small models.
//
// A step can be recorded because the host never waits in it. Skipping, the scale, the learning rate and the number of
// applied steps are all decided on the device. Data that changes from step to step changes in device memory.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

namespace nn = syclamp::nn;

using syclamp::device_array;

constexpr std::size_t features = 16, rows = 32, batches = 50, steps = 1000;

/// y = x · truth in `batches` batches, one of which has a sample that makes gradients overflow.
struct data {
  data() : x(batches * rows * features), y(batches * rows) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> truth(features);
    for (float& value : truth) value = normal(random);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = normal(random);
      y[i / features] += static_cast<float>(x[i]) * truth[i % features];
    }
    y[30 * rows] = 1e6f;
  }
  std::vector<sycl::half> x;
  std::vector<float> y;
};

struct result {
  bool recorded;
  double microseconds;  // host time per step
  std::uint64_t kernels;
  syclamp::step_record last;
  std::vector<float> weights;
};

result train(const syclamp::engine& engine, const data& all, syclamp::recording mode) {
  sycl::queue& queue = engine.queue();
  const device_array<sycl::half> x(engine, rows * features), weights(engine, features, 0.0f), out(engine, rows),
      gradients(engine, features);
  const device_array<float> y(engine, rows), losses(engine, rows + 1);
  const nn::matrix_view in(x.data(), rows, features), w(weights.data(), 1, features), dy(out.data(), rows, 1),
      target(y.data(), rows, 1), dw(gradients.data(), 1, features);
  syclamp::fused_optimizer optimizer(engine, {{.gradient = gradients, .model = weights, .name = "weights"}},
                                     syclamp::sgd{.lr = 0.02, .momentum = 0.9});
  optimizer.set_schedule({.kind = syclamp::lr_schedule::shape::cosine, .steps = steps});
  syclamp::loss_scaler scaler(engine, {.init_scale = 1024});
  scaler.prepare(optimizer.gradients());  // allocates now, because a recording must not

  syclamp::recorded_step step(
      engine,
      [&] {
        nn::linear(engine, in, w, {}, dy);
        scaler.begin_step();
        nn::mean_squared_error(engine, dy, target, {losses.data(), losses.data() + rows}, dy,
                               syclamp::device_value(engine, scaler.device_scale()));
        nn::linear_backward(engine, in, w, dy, {.weight = dw});
        scaler.step(optimizer, {.max_norm = 5.0f});
        scaler.update();
      },
      mode);

  const std::uint64_t kernels = engine.statistics().kernels_submitted;
  std::chrono::duration<double, std::micro> spent{0};
  for (std::size_t i = 0; i < steps; ++i) {
    // Each batch is copied to the same memory, because the addresses are part of the recording.
    queue.copy(&all.x[i % batches * rows * features], x.data(), x.size());
    queue.copy(&all.y[i % batches * rows], y.data(), y.size());
    const auto begin = std::chrono::steady_clock::now();
    step();
    spent += std::chrono::steady_clock::now() - begin;
  }
  return {step.is_recorded(), spent.count() / static_cast<double>(steps),
          engine.statistics().kernels_submitted - kernels, scaler.outcome(), optimizer.weights(0)};
}

int main() try {
  const syclamp::engine engine;
  const data all;
  const result direct = train(engine, all, syclamp::recording::never);
  const result recorded = train(engine, all, syclamp::recording::if_possible);
  for (const result& result : {direct, recorded})
    std::cout << (result.recorded ? "recorded:   " : "one by one: ") << result.kernels << " kernels submitted, "
              << result.microseconds << " us of the host for a step; " << result.last.applied << " steps applied, "
              << result.last.skipped << " skipped\n";
  if (!recorded.recorded) std::cout << "(this device has no graphs)\n";
  const bool same = recorded.weights == direct.weights && recorded.last.next_scale == direct.last.next_scale;
  std::cout << (same ? "both lead to the same bits\n" : "THE RESULTS DIFFER\n");
  return same && direct.last.skipped > 0 && recorded.last.skipped == direct.last.skipped &&
                 (!recorded.recorded || recorded.kernels == 0)
             ? 0
             : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
