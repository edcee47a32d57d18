// Four micro-batches make a step, and the step is clipped. Micro-batches are added up unscaled, in FP32, so the scale
// may move between them, and one that overflows is dropped alone: the step is the mean of the other three. The limit of
// the norm is that of the unscaled mean; nobody can clip at the wrong moment.
//
// The model is a linear one in FP16, whose true weights are known. Two samples of the data are wrong: one is so large
// that its gradients overflow, the other is not, but would carry the weights away if the step were not clipped.
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
  targets[(20 * micro_batches + 2) * rows] = 1e6f;  // overflows: the third micro-batch of step 20, counted from 0
  targets[50 * micro_batches * rows] = 1e3f;        // does not
  const device_array x(engine, inputs);
  const device_array y(engine, targets);

  const device_array<sycl::half> weights(engine, features, 0.0f), gradients(engine, features);  // gradients are scaled
  const device_array<sycl::half> prediction(engine, rows);                                      // and then its gradient
  const device_array<float> sums(engine, features, 0.0f), losses(engine, rows + 1);

  // The optimizer's gradients are the sums; the backward pass has its own.
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
      scaler.accumulate(of_micro_batch, optimizer.gradients());  // sums += gradients / S, unless they are bad
      scaler.update();                                           // the scale may move inside the window
    }
    scaler.step_accumulated(optimizer, {.max_norm = 2.0f});  // the mean of those that were not dropped, clipped
    scaler.update();
    clear_gradients(optimizer.gradients());
  }
  engine.wait();

  // Every update has left a record: those of micro-batches, and those of steps.
  int dropped = 0, applied = 0;
  float clip = 1.0f;  // the smallest factor by which a step was clipped after the first twenty
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
