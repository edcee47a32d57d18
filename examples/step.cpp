// The training step of the README. `your_model` stands for your own forward and backward pass. Its loss here is
// sum(w * w) / 2, so the gradient of each weight is the weight itself. The weights start at 1, and the scale at 65536:
// 1 * 65536 exceeds the largest FP16 number, so the first step overflows. The scaler skips it and halves the scale.
#include <syclamp/syclamp.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>

class your_model {
 public:
  explicit your_model(const syclamp::engine& engine)
      : weights(engine, 1000, 1.0f),
        gradients(engine, 1000),
        engine_(engine),
        in_(engine, {{.data = weights, .name = "weights"}}),
        out_(engine, {{.data = gradients, .name = "gradients"}}) {}

  /// Writes the gradients of the loss times `*scale`, on the device and without waiting.
  void backward(const float* scale) { syclamp::scale(in_, out_, syclamp::device_value(engine_, scale)); }

  syclamp::device_array<sycl::half> weights, gradients;

 private:
  syclamp::engine engine_;
  syclamp::tensor_list in_, out_;
};

int main() try {
  // [readme]
  const syclamp::engine engine;  // the best device; or pass your own sycl::queue
  your_model model(engine);      // your code: FP16 weights and gradients in device memory

  syclamp::fused_optimizer optimizer(engine, {{.gradient = model.gradients, .model = model.weights}},
                                     syclamp::adamw{.lr = 0.01});  // keeps FP32 master weights
  syclamp::loss_scaler scaler(engine);

  for (int step = 0; step < 500; ++step) {
    const float* scale = scaler.begin_step();    // in device memory
    model.backward(scale);                       // your code: multiplies the loss by *scale
    scaler.step(optimizer, {.max_norm = 1.0f});  // finds overflow; unscales, clips and updates, or skips
    scaler.update();                             // adjusts the scale; nothing in this loop waits
  }
  std::cout << "skipped steps: " << scaler.outcome().skipped << ", scale: " << scaler.get_scale() << '\n';
  // [readme]

  float largest = 0.0f;
  for (const sycl::half weight : model.weights.to_vector())
    largest = std::max(largest, std::abs(static_cast<float>(weight)));
  return scaler.outcome().skipped == 1 && scaler.get_scale() == 32768.0f && largest < 0.05f ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
