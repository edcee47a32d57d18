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

/// Memory that host and device share. (Training code would rather use memory of the device.)
template <typename T>
using shared = std::vector<T, sycl::usm_allocator<T, sycl::usm::alloc::shared>>;

int main() try {
  const syclamp::engine engine;
  sycl::queue& queue = engine.queue();
  constexpr std::size_t features = 32, rows = 64, micro_batches = 4, steps = 60;

  // Data: y = x · truth.
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> truth(features);
  for (float& weight : truth) weight = normal(random);
  constexpr std::size_t samples = steps * micro_batches * rows;
  shared<sycl::half> x(samples * features, 0.0f, queue);
  shared<float> y(samples, 0.0f, queue);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random);
    y[i / features] += static_cast<float>(x[i]) * truth[i % features];
  }
  y[(20 * micro_batches + 2) * rows] = 1e6f;  // overflows: the third micro-batch of step 20, counted from 0
  y[50 * micro_batches * rows] = 1e3f;        // does not

  shared<sycl::half> weights(features, 0.0f, queue), gradients(features, 0.0f, queue);  // FP16; gradients are scaled
  shared<sycl::half> prediction(rows, 0.0f, queue);                                     // and then its gradient
  shared<float> sums(features, 0.0f, queue), losses(rows + 1, 0.0f, queue);

  // The optimizer's gradients are the sums; the backward pass has its own.
  const syclamp::tensor_list of_micro_batch(engine, {{{gradients.data(), features}, "weights"}});
  syclamp::fused_optimizer optimizer(
      engine, {{.gradient = {sums.data(), features}, .model = {weights.data(), features}, .name = "weights"}},
      syclamp::sgd{.lr = 0.2});
  syclamp::loss_scaler scaler(engine, {.init_scale = 256});

  const syclamp::matrix_view w(weights.data(), 1, features), dw(gradients.data(), 1, features),
      out(prediction.data(), rows, 1);
  for (std::size_t step = 0; step < steps; ++step) {
    for (std::size_t i = 0; i < micro_batches; ++i) {
      const std::size_t first = (step * micro_batches + i) * rows;
      const syclamp::matrix_view in(&x[first * features], rows, features), target(&y[first], rows, 1);
      linear(engine, in, w, {}, out);
      scaler.begin_step();
      mean_squared_error(engine, out, target, {losses.data(), &losses[rows]}, out,
                         syclamp::device_value(engine, scaler.device_scale()));
      linear_backward(engine, in, w, out, {.weight = dw});
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
