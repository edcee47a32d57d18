// Two losses and two optimizers with one scaler. A model learns a function. A probe learns to predict the function's
// sign from the model's hidden layer, without changing the model.
//
// Two batches contain a label that does not exist, so the probe's gradients are NaN. If each optimizer steps
// separately, only the probe's step is skipped. If they step together, both steps are skipped.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

namespace nn = syclamp::nn;

using syclamp::device_array;

struct result {
  std::uint64_t model_steps, probe_steps;
  float model_loss, probe_loss, scale;
};

result train(const syclamp::engine& engine, bool together) {
  constexpr std::size_t rows = 256, inputs = 4, hidden = 32, classes = 2, steps = 300;
  sycl::queue& queue = engine.queue();

  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  const auto random_values = [&](std::size_t count) {
    std::vector<sycl::half> values(count);
    for (sycl::half& value : values) value = uniform(random);
    return values;
  };
  const std::vector<sycl::half> samples = random_values(rows * inputs);
  std::vector<float> values(rows);
  std::vector<std::uint32_t> signs(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    values[row] = std::sin(3.0f * samples[row * inputs]) + samples[row * inputs + 1];
    signs[row] = values[row] > 0 ? 1 : 0;
  }
  const device_array x(engine, samples), w1(engine, random_values(hidden * inputs)), w2(engine, random_values(hidden));
  const device_array<sycl::half> probe(engine, classes * hidden, 0.0f);
  const device_array target(engine, values);
  const device_array labels(engine, signs);

  // Activations and gradients.
  const device_array<sycl::half> h(engine, rows * hidden), a(engine, rows * hidden), y(engine, rows),
      logits(engine, rows * classes), dh(engine, rows * hidden), dw1(engine, hidden * inputs), dw2(engine, hidden),
      dprobe(engine, classes * hidden);
  const device_array<float> model_losses(engine, rows + 1), probe_losses(engine, rows + 1);
  const auto matrix = [](const device_array<sycl::half>& weights, std::size_t columns) {
    return nn::matrix_view(weights.data(), weights.size() / columns, columns);
  };
  const nn::matrix_view in = matrix(x, inputs), before = matrix(h, hidden), after = matrix(a, hidden);

  syclamp::fused_optimizer of_model(engine, {{dw1, w1, {}, {}, "w1"}, {dw2, w2, {}, {}, "w2"}},
                                    syclamp::adamw{.lr = 1e-2});
  syclamp::fused_optimizer of_probe(engine, {{dprobe, probe, {}, {}, "probe"}},
                                    syclamp::sgd{.lr = 0.5, .momentum = 0.9});
  syclamp::loss_scaler scaler(engine, {.init_scale = 4096});

  const std::uint32_t right = signs[0], wrong = 7;
  for (std::size_t step = 0; step < steps; ++step) {  // the host never waits in this loop
    if (step == 100 || step == 200) queue.copy(&wrong, labels.data(), 1);

    // Both losses multiply their gradients by the same scale.
    scaler.begin_step();
    nn::linear(engine, in, matrix(w1, inputs), {}, before);
    nn::activate(engine, before, after, nn::activation::tanh);
    nn::linear(engine, after, matrix(w2, hidden), {}, matrix(y, 1));
    nn::linear(engine, after, matrix(probe, hidden), {}, matrix(logits, classes));
    nn::mean_squared_error(engine, matrix(y, 1), {target.data(), rows, 1},
                           {model_losses.data(), model_losses.data() + rows}, matrix(y, 1),
                           syclamp::device_value(engine, scaler.device_scale()));
    nn::softmax_cross_entropy(engine, matrix(logits, classes), labels.data(),
                              {probe_losses.data(), probe_losses.data() + rows}, matrix(logits, classes),
                              syclamp::device_value(engine, scaler.device_scale()));
    nn::linear_backward(engine, after, matrix(w2, hidden), matrix(y, 1),
                        {.x = matrix(dh, hidden), .weight = matrix(dw2, hidden)});
    nn::activate_backward(engine, before, matrix(dh, hidden), matrix(dh, hidden), nn::activation::tanh);
    nn::linear_backward(engine, in, matrix(w1, inputs), matrix(dh, hidden), {.weight = matrix(dw1, inputs)});
    nn::linear_backward(engine, after, matrix(probe, hidden), matrix(logits, classes),
                        {.weight = matrix(dprobe, hidden)});

    if (together) {
      syclamp::optimizer* const both[] = {&of_model, &of_probe};
      scaler.step(both);
    } else {
      scaler.step(of_model);
      scaler.step(of_probe);
    }
    scaler.update();  // once for both: the scale backs off if either had Inf or NaN

    if (step == 100 || step == 200) queue.copy(&right, labels.data(), 1);
  }
  return {of_model.steps(), of_probe.steps(), model_losses.to_vector()[rows], probe_losses.to_vector()[rows],
          scaler.get_scale()};
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
