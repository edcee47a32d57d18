// An optimizer that the library does not have: signum, m = β·m + (1 - β)·g, w = w - lr · sign(m). Your class derives
// from syclamp::optimizer and submits one kernel, which checks the decision before it writes anything. The scaler does
// the rest: it detects overflow, provides the unscale and clip factors, moves the scale and keeps the ledger.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

namespace nn = syclamp::nn;

/// The kernel for one element. Weights and momentum are FP32. Gradients and the model's copy are FP16.
struct signum_kernel {
  const syclamp::step_decision* decision;
  const sycl::half* gradients;
  float *momentum, *weights;
  sycl::half* model;
  float lr;

  void operator()(sycl::id<1> i) const {
    if (decision->apply == 0) return;                                      // the step is skipped
    const float g = decision->gradient(static_cast<float>(gradients[i]));  // unscaled and clipped
    const float m = momentum[i] = 0.9f * momentum[i] + 0.1f * g;
    weights[i] -= m > 0 ? lr : m < 0 ? -lr : 0.0f;
    model[i] = static_cast<sycl::half>(weights[i]);
  }
};

/// Submits a kernel if a SYCL compiler builds this file, otherwise a host task. The host waits in neither case.
sycl::event for_each_element(sycl::queue& queue, std::size_t count, const signum_kernel& kernel) {
#if defined(SYCL_LANGUAGE_VERSION) || defined(__ACPP__)
  return queue.parallel_for(sycl::range<1>(count), kernel);
#else
  const auto all = [=] {
    for (std::size_t i = 0; i < count; ++i) kernel(i);
  };
  return queue.submit([&](sycl::handler& handler) { handler.host_task(all); });
#endif
}

using syclamp::device_array;

/// Host tasks need shared memory. With kernels, use device memory.
constexpr auto kind = sycl::usm::alloc::shared;

class signum final : public syclamp::optimizer {
 public:
  /// For one tensor. With several, `apply` would submit one kernel per tensor.
  signum(const syclamp::engine& engine, const device_array<sycl::half>& gradients,
         const device_array<sycl::half>& model, float lr)
      : momentum(engine, model.size(), 0.0f, kind),
        weights(engine, model.size(), 0.0f, kind),
        list_(engine, {{.data = gradients, .name = "weights"}}),
        decision_(engine, 1, kind),
        model_(model.data()),
        lr_(lr) {}

  const syclamp::tensor_list& gradients() const override { return list_; }

  sycl::event apply(const syclamp::step_inputs& inputs) override {
    sycl::queue& queue = list_.get_engine().queue();
    queue.copy(inputs.decisions, decision_.data(), 1);  // for host tasks; a kernel can read the original
    const auto* gradients = static_cast<const sycl::half*>(inputs.gradients[0].data());
    return for_each_element(queue, weights.size(),
                            signum_kernel{decision_.data(), gradients, momentum.data(), weights.data(), model_, lr_});
  }

  device_array<float> momentum, weights;

 private:
  syclamp::tensor_list list_;
  device_array<syclamp::step_decision> decision_;
  sycl::half* model_;
  float lr_;
};

int main() try {
  const syclamp::engine engine;
  // A linear model, y = x · truth, in FP16.
  constexpr std::size_t rows = 256, features = 16, steps = 400;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> truth(features);
  for (float& value : truth) value = normal(random);
  std::vector<sycl::half> inputs(rows * features);
  std::vector<float> targets(rows);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = normal(random);
    targets[i / features] += static_cast<float>(inputs[i]) * truth[i % features];
  }
  const device_array x(engine, inputs);
  device_array y(engine, targets);
  const device_array<sycl::half> out(engine, rows), model(engine, features, 0.0f, kind),
      gradients(engine, features, kind);
  const device_array<float> losses(engine, rows + 1);
  signum optimizer(engine, gradients, model, 0.02f);
  syclamp::loss_scaler scaler(engine, {.init_scale = 1024});
  const nn::matrix_view in(x.data(), rows, features), w(model.data(), 1, features), dy(out.data(), rows, 1);
  const auto train = [&] {
    nn::linear(engine, in, w, {}, dy);
    scaler.begin_step();
    nn::mean_squared_error(engine, dy, {y.data(), rows, 1}, {losses.data(), losses.data() + rows}, dy,
                           syclamp::device_value(engine, scaler.device_scale()));
    nn::linear_backward(engine, in, w, dy, {.weight = nn::matrix_view(gradients.data(), 1, features)});
    scaler.step(optimizer);
    scaler.update();
  };
  for (std::size_t step = 0; step < steps; ++step) {
    train();
    if (step % 20 == 19) engine.wait();  // because long queues of host tasks are slow
  }
  // One more step, with a sample that makes the gradients overflow.
  const std::vector<float> weights = optimizer.weights.to_vector(), momentum = optimizer.momentum.to_vector();
  targets[7] = 1e6f;
  y.upload(targets);
  train();
  const syclamp::step_record last = scaler.outcome();  // waits
  const bool untouched = weights == optimizer.weights.to_vector() && momentum == optimizer.momentum.to_vector();
  float worst = 0.0f;
  for (std::size_t i = 0; i < features; ++i) worst = std::max(worst, std::abs(weights[i] - truth[i]));
  std::cout << last.applied << " steps applied; largest error of a weight " << worst
            << "\nthen: " << syclamp::to_string(last.outcome) << ", which "
            << (untouched ? "left weights and momentum as they were" : "CHANGED SOMETHING") << '\n';
  return last.applied == steps && worst < 0.05f && last.skipped == 1 && untouched ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
