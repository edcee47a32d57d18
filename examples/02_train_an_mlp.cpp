// Trains a small network three times: in FP32, in plain FP16, and in FP16 with a loss scale. The network is a surrogate
// model: it maps two parameters to a damped oscillation at 256 points in time.
//
// The loss is a mean over all outputs of all samples, so the gradients of the outputs are tiny. In plain FP16, half of
// the weight gradients become zero. With the scale almost none does, and the loss is that of FP32. This problem is so
// small that the zeros cost only a few percent of loss. `syclamp train --task field --compare` shows a problem on which
// they cost more.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <cmath>
#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

namespace nn = syclamp::nn;

using syclamp::element_type;

/// A matrix in device memory.
class matrix {
 public:
  matrix(const syclamp::engine& engine, std::uint64_t rows, std::uint64_t columns, element_type type)
      : memory_(engine, rows * columns * syclamp::bytes_per_element(type), std::uint8_t{0}),
        view_(memory_.data(), rows, columns, type) {}

  /// Computes the values in FP32 and casts them on the device.
  template <typename Function>
  void fill(const syclamp::engine& engine, Function value) {
    std::vector<float> values;
    for (std::uint64_t row = 0; row < view_.rows(); ++row)
      for (std::uint64_t column = 0; column < view_.columns(); ++column) values.push_back(value(row, column));
    const syclamp::device_array exact(engine, values);
    syclamp::cast({engine, exact}, {engine, elements()});
  }

  operator const nn::matrix_view&() const { return view_; }  // the type that layers take
  syclamp::array_view elements() const { return {memory_.data(), view_.rows() * view_.columns(), view_.type()}; }

 private:
  syclamp::device_array<std::uint8_t> memory_;
  nn::matrix_view view_;
};

struct result {
  float loss;
  syclamp::step_record last;
  double zeros() const { return static_cast<double>(last.zero_count) / static_cast<double>(last.elements); }
};

result train(const syclamp::engine& engine, const nn::precision_policy& formats,
             const syclamp::scaling_policy& policy) {
  constexpr std::uint64_t batch = 1024, inputs = 2, hidden = 64, outputs = 256;
  const element_type compute = formats.compute, gradient = nn::gradient_type(formats);
  const element_type exact = nn::type_for(formats, "mean_squared_error");

  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> samples(batch * inputs);
  for (float& value : samples) value = uniform(random);
  matrix x(engine, batch, inputs, compute), target(engine, batch, outputs, exact);
  x.fill(engine, [&](auto row, auto column) { return samples[row * inputs + column]; });
  target.fill(engine, [&](auto row, auto column) {
    const float time = static_cast<float>(column) / static_cast<float>(outputs);
    return std::exp(-(2 + samples[row * inputs]) * time) * std::cos((5 + samples[row * inputs + 1]) * time);
  });

  // Weights, gradients and activations: h = x·w1ᵀ + b1, a = gelu(h), y = a·w2ᵀ + b2.
  matrix w1(engine, hidden, inputs, compute), b1(engine, 1, hidden, compute), w2(engine, outputs, hidden, compute),
      b2(engine, 1, outputs, compute);
  w1.fill(engine, [&](auto, auto) { return uniform(random); });
  w2.fill(engine, [&](auto, auto) { return uniform(random) / 8; });
  const matrix dw1(engine, hidden, inputs, gradient), db1(engine, 1, hidden, gradient),
      dw2(engine, outputs, hidden, gradient), db2(engine, 1, outputs, gradient);
  const matrix h(engine, batch, hidden, compute), a(engine, batch, hidden, compute), y(engine, batch, outputs, compute);
  const matrix dh(engine, batch, hidden, gradient), dy(engine, batch, outputs, gradient);
  const syclamp::device_array<float> losses(engine, batch + 1);  // per sample, and their mean

  // The optimizer allocates the FP32 master weights and the moments.
  syclamp::fused_optimizer optimizer(engine,
                                     {{.gradient = dw1.elements(), .model = w1.elements(), .name = "w1"},
                                      {.gradient = db1.elements(), .model = b1.elements(), .name = "b1"},
                                      {.gradient = dw2.elements(), .model = w2.elements(), .name = "w2"},
                                      {.gradient = db2.elements(), .model = b2.elements(), .name = "b2"}},
                                     syclamp::adam{.lr = 1e-2});
  syclamp::loss_scaler scaler(engine, policy);
  constexpr int steps = 500;
  optimizer.set_schedule({.kind = syclamp::lr_schedule::shape::cosine, .steps = steps});
  for (int step = 0; step < steps; ++step) {
    nn::linear(engine, x, w1, b1.elements(), h);
    nn::activate(engine, h, a, nn::activation::gelu);
    nn::linear(engine, a, w2, b2.elements(), y);
    scaler.begin_step();  // the loss multiplies its gradient by the scale
    nn::mean_squared_error(engine, y, target, {losses.data(), losses.data() + batch}, dy,
                           syclamp::device_value(engine, scaler.device_scale()));
    nn::linear_backward(engine, a, w2, dy, {.x = dh, .weight = dw2, .bias = db2.elements()});
    nn::activate_backward(engine, h, dh, dh, nn::activation::gelu);
    nn::linear_backward(engine, x, w1, dh, {.weight = dw1, .bias = db1.elements()});
    scaler.step(optimizer);
    scaler.update();
    if (step % 20 == 19) engine.wait();  // keeps the host from running hundreds of steps ahead
  }
  return {losses.to_vector()[batch], scaler.outcome()};
}

int main() try {
  const syclamp::engine engine;
  const auto fp32 = nn::precision_preset("float32"), fp16 = nn::precision_preset("mixed_float16");
  const syclamp::scaling_policy none{.mode = syclamp::scaling_mode::fixed, .init_scale = 1};
  const result exact = train(engine, fp32, none), plain = train(engine, fp16, none), scaled = train(engine, fp16, {});
  const auto print = [&](const char* name, const result& result) {
    std::cout << name << ": loss " << result.loss << ", scale " << result.last.scale << ", " << result.last.skipped
              << " steps skipped, " << 100 * result.zeros() << " % of the last gradients are zero\n";
  };
  print("FP32         ", exact);
  print("FP16, plain  ", plain);
  print("FP16, scaled ", scaled);
  const bool has_learnt = exact.loss < 1e-3f;  // it starts at 0.17
  const bool is_as_good = std::abs(scaled.loss / exact.loss - 1) < 0.01f;
  return has_learnt && is_as_good && plain.zeros() > 0.2 && scaled.zeros() < 0.02 ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
