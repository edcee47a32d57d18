// A model, and a probe that watches it: the model learns a function, the probe learns to tell the function's sign from
// the model's hidden layer, without disturbing it. Two losses, two optimizers, one scaler.
//
// Twice a batch comes with a label that does not exist, so the probe's gradients are NaN. With a step for each
// optimizer, only the probe's is skipped. With one step for both, it is both or none.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

/// Memory that host and device share. (Training code would rather use memory of the device.)
template <typename T>
using shared = std::vector<T, sycl::usm_allocator<T, sycl::usm::alloc::shared>>;

struct result {
  std::uint64_t model_steps, probe_steps;
  float model_loss, probe_loss, scale;
};

result train(const syclamp::engine& engine, bool together) {
  constexpr std::size_t rows = 256, inputs = 4, hidden = 32, classes = 2, steps = 300;
  sycl::queue& queue = engine.queue();
  const sycl::half zero = 0.0f;

  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  shared<sycl::half> x(rows * inputs, zero, queue), w1(hidden * inputs, zero, queue), w2(hidden, zero, queue);
  shared<sycl::half> probe(classes * hidden, zero, queue);
  shared<float> target(rows, 0.0f, queue);
  shared<std::uint32_t> labels(rows, 0, queue);
  for (auto* some : {&x, &w1, &w2})
    for (sycl::half& value : *some) value = uniform(random);
  for (std::size_t row = 0; row < rows; ++row) {
    target[row] = std::sin(3.0f * x[row * inputs]) + x[row * inputs + 1];
    labels[row] = target[row] > 0 ? 1 : 0;
  }

  // What lies between the layers, and gradients.
  shared<sycl::half> h(rows * hidden, zero, queue), a(rows * hidden, zero, queue), y(rows, zero, queue),
      logits(rows * classes, zero, queue), dh(rows * hidden, zero, queue), dw1(hidden * inputs, zero, queue),
      dw2(hidden, zero, queue), dprobe(classes * hidden, zero, queue);
  shared<float> model_losses(rows + 1, 0.0f, queue), probe_losses(rows + 1, 0.0f, queue);
  const auto matrix = [](const shared<sycl::half>& weights, std::size_t columns) {
    return syclamp::matrix_view(weights.data(), weights.size() / columns, columns);
  };
  const syclamp::matrix_view in = matrix(x, inputs), before = matrix(h, hidden), after = matrix(a, hidden);

  syclamp::fused_optimizer of_model(engine,
                                    {{{dw1.data(), dw1.size()}, {w1.data(), w1.size()}, {}, {}, "w1"},
                                     {{dw2.data(), dw2.size()}, {w2.data(), w2.size()}, {}, {}, "w2"}},
                                    syclamp::adamw{.lr = 1e-2});
  syclamp::fused_optimizer of_probe(engine,
                                    {{{dprobe.data(), dprobe.size()}, {probe.data(), probe.size()}, {}, {}, "probe"}},
                                    syclamp::sgd{.lr = 0.5, .momentum = 0.9});
  syclamp::loss_scaler scaler(engine, {.init_scale = 4096});

  const std::uint32_t right = labels[0], wrong = 7;
  for (std::size_t step = 0; step < steps; ++step) {  // nothing in here waits
    if (step == 100 || step == 200) queue.copy(&wrong, labels.data(), 1);

    // Both losses multiply their gradients by the same scale.
    scaler.begin_step();
    linear(engine, in, matrix(w1, inputs), {}, before);
    activate(engine, before, after, syclamp::activation::tanh);
    linear(engine, after, matrix(w2, hidden), {}, matrix(y, 1));
    linear(engine, after, matrix(probe, hidden), {}, matrix(logits, classes));
    mean_squared_error(engine, matrix(y, 1), {target.data(), rows, 1},
                       {model_losses.data(), model_losses.data() + rows}, matrix(y, 1),
                       syclamp::device_value(engine, scaler.device_scale()));
    softmax_cross_entropy(engine, matrix(logits, classes), labels.data(),
                          {probe_losses.data(), probe_losses.data() + rows}, matrix(logits, classes),
                          syclamp::device_value(engine, scaler.device_scale()));
    linear_backward(engine, after, matrix(w2, hidden), matrix(y, 1),
                    {.x = matrix(dh, hidden), .weight = matrix(dw2, hidden)});
    activate_backward(engine, before, matrix(dh, hidden), matrix(dh, hidden), syclamp::activation::tanh);
    linear_backward(engine, in, matrix(w1, inputs), matrix(dh, hidden), {.weight = matrix(dw1, inputs)});
    linear_backward(engine, after, matrix(probe, hidden), matrix(logits, classes), {.weight = matrix(dprobe, hidden)});

    if (together) {
      syclamp::optimizer* const both[] = {&of_model, &of_probe};
      scaler.step(both);
    } else {
      scaler.step(of_model);
      scaler.step(of_probe);
    }
    scaler.update();  // once: the scale backs off if either of them was bad

    if (step == 100 || step == 200) queue.copy(&right, labels.data(), 1);
  }
  engine.wait();
  return {of_model.steps(), of_probe.steps(), model_losses[rows], probe_losses[rows], scaler.get_scale()};
}

int main() try {
  const syclamp::engine engine;
  const result apart = train(engine, false), together = train(engine, true);
  const auto print = [](const char* name, const result& result) {
    std::cout << name << ": the model made " << result.model_steps << " steps of 300, loss " << result.model_loss
              << "; the probe " << result.probe_steps << ", loss " << result.probe_loss << "; scale " << result.scale
              << '\n';
  };
  print("each by itself", apart);
  print("together      ", together);
  bool good = apart.model_steps == 300 && apart.probe_steps == 298 && together.model_steps == 298 &&
              together.probe_steps == 298;
  for (const result& result : {apart, together})
    good = good && result.model_loss < 0.02f && result.probe_loss < 0.3f && result.scale == 1024.0f;
  return good ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
