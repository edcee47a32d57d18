// Accumulates the gradients of four micro-batches per step, and clips the step. Gradients are accumulated unscaled, in
// FP32, so the scale may move between micro-batches. A micro-batch that overflows is dropped, and the step is the mean
// of the other three. The clip limit applies to the norm of that unscaled mean.
//
// The model is linear, in FP16, and its true weights are known. Two samples of the data are outliers. The gradients of
// the first overflow. The gradients of the second are finite, but would spoil the weights if the step were not clipped.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

namespace nn = syclamp::nn;

using syclamp::device_array;

int main() try {
  const syclamp::engine engine;
  constexpr std::size_t features = 32, rows = 64, micro_batches = 4, steps = 60;

  // Data: y = x · truth.
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> truth(features);
  for (float& weight : truth) weight = normal(random);
  constexpr std::size_t samples = steps * micro_batches * rows;
  std::vector<sycl::half> inputs(samples * features);
  std::vector<float> targets(samples);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = normal(random);
    targets[i / features] += static_cast<float>(inputs[i]) * truth[i % features];
  }
  targets[(20 * micro_batches + 2) * rows] = 1e6f;  // overflows in the third micro-batch of step 20
  targets[50 * micro_batches * rows] = 1e3f;        // finite, but needs clipping
  const device_array x(engine, inputs);
  const device_array y(engine, targets);

  const device_array<sycl::half> weights(engine, features, 0.0f), gradients(engine, features);  // scaled gradients
  const device_array<sycl::half> prediction(engine, rows);                                      // later its gradient
  const device_array<float> sums(engine, features, 0.0f), losses(engine, rows + 1);

  // The optimizer reads the accumulated sums. The backward pass writes to separate gradients.
  const syclamp::tensor_list of_micro_batch(engine, {{.data = gradients, .name = "weights"}});
  syclamp::fused_optimizer optimizer(engine, {{.gradient = sums, .model = weights, .name = "weights"}},
                                     syclamp::sgd{.lr = 0.2});
  syclamp::loss_scaler scaler(engine, {.init_scale = 256});

  const nn::matrix_view w(weights.data(), 1, features), dw(gradients.data(), 1, features),
      out(prediction.data(), rows, 1);
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < micro_batches; ++i) {
      const std::size_t first = (step * micro_batches + i) * rows;
      const nn::matrix_view in(x.data() + first * features, rows, features), target(y.data() + first, rows, 1);
      nn::linear(engine, in, w, {}, out);
      scaler.begin_step();
      nn::mean_squared_error(engine, out, target, {losses.data(), losses.data() + rows}, out,
                             syclamp::device_value(engine, scaler.device_scale()));
      nn::linear_backward(engine, in, w, out, {.weight = dw});
      scaler.accumulate(of_micro_batch, optimizer.gradients());  // sums += gradients / S, if all are finite
      scaler.update();                                           // the scale may move between micro-batches
    }
    scaler.step_accumulated(optimizer, {.max_norm = 2.0f});  // the clipped mean of what was not dropped
    scaler.update();
    clear_gradients(optimizer.gradients());
  }
  engine.wait();

  // Every update has left a record, whether of a micro-batch or of a step.
  int dropped = 0, applied = 0;
  float clip = 1.0f;  // smallest clip factor after the first twenty steps
  for (const syclamp::ledger_entry& entry : scaler.ledger()) {
    const syclamp::step_record& record = entry.record;
    if (record.outcome == syclamp::step_outcome::skipped_inf || record.outcome == syclamp::step_outcome::skipped_nan) {
      ++dropped;
      std::cout << "a micro-batch was dropped: " << to_string(record.outcome) << " at scale " << record.scale << '\n';
    } else if (record.was_applied()) {
      ++applied;
      if (applied > 20 && record.clip < 1.0f) {
        clip = std::min(clip, record.clip);
        std::cout << "step " << applied << " was clipped: norm " << record.norm << ", factor " << record.clip << '\n';
      }
    }
  }
  float worst = 0.0f;
  const std::vector<float> learnt = optimizer.weights(0);
  for (std::size_t i = 0; i < features; ++i) worst = std::max(worst, std::abs(learnt[i] - truth[i]));
  std::cout << applied << " of " << steps << " steps applied; largest error of a weight " << worst << '\n';

  return applied == steps && dropped == 1 && clip < 0.1f && worst < 0.01f ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
