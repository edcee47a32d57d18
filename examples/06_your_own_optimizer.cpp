// An optimizer that the library does not have: signum, m = β·m + (1 - β)·g, w = w - lr · sign(m). A class of your own
// derives from syclamp::optimizer and has one kernel, which asks the decision before it writes anything. Everything
// else (finding overflow, unscaling, clipping, skipping, moving the scale, the ledger) comes with the scaler.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <random>
#include <vector>

/// The kernel, for one element. Weights and momentum are FP32, gradients and the model's copy FP16.
struct signum_kernel {
  const syclamp::step_decision* decision;
  const sycl::half* gradients;
  float *momentum, *weights;
  sycl::half* model;
  float lr;

  void operator()(sycl::id<1> i) const {
    if (decision->apply == 0) return;                                      // nothing may change
    const float g = decision->gradient(static_cast<float>(gradients[i]));  // unscaled and clipped
    const float m = momentum[i] = 0.9f * momentum[i] + 0.1f * g;
    weights[i] -= m > 0 ? lr : m < 0 ? -lr : 0.0f;
    model[i] = static_cast<sycl::half>(weights[i]);
  }
};

/// Submits it: a kernel if a SYCL compiler builds this, else a task of the host. Nobody waits in either case.
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

template <typename T>  // in memory that host and device share
using shared = std::vector<T, sycl::usm_allocator<T, sycl::usm::alloc::shared>>;

class signum final : public syclamp::optimizer {
 public:
  /// Of one tensor; with several, `apply` submits a kernel for each.
  signum(const syclamp::engine& engine, const shared<sycl::half>& gradients, shared<sycl::half>& model, float lr)
      : momentum(model.size(), 0.0f, engine.queue()),
        weights(model.begin(), model.end(), engine.queue()),
        list_(engine, {{{gradients.data(), gradients.size()}, "weights"}}),
        decision_(1, {}, engine.queue()),
        model_(model.data()),
        lr_(lr) {}

  const syclamp::tensor_list& gradients() const override { return list_; }

  sycl::event apply(const syclamp::step_inputs& inputs) override {
    sycl::queue& queue = list_.get_engine().queue();
    queue.copy(inputs.decisions, decision_.data(), 1);  // for tasks of the host; a kernel can read it where it is
    const auto* gradients = static_cast<const sycl::half*>(inputs.gradients[0].data());
    return for_each_element(queue, weights.size(),
                            signum_kernel{decision_.data(), gradients, momentum.data(), weights.data(), model_, lr_});
  }

  shared<float> momentum, weights;

 private:
  syclamp::tensor_list list_;
  shared<syclamp::step_decision> decision_;
  sycl::half* model_;
  float lr_;
};

int main() try {
  const syclamp::engine engine;
  sycl::queue& queue = engine.queue();
  // A linear model, y = x · truth, in FP16.
  constexpr std::size_t rows = 256, features = 16, steps = 400;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> truth(features);
  for (float& value : truth) value = normal(random);
  shared<sycl::half> x(rows * features, 0.0f, queue), out(rows, 0.0f, queue), model(features, 0.0f, queue),
      gradients(features, 0.0f, queue);
  shared<float> y(rows, 0.0f, queue), losses(rows + 1, 0.0f, queue);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = normal(random);
    y[i / features] += static_cast<float>(x[i]) * truth[i % features];
  }
  signum optimizer(engine, gradients, model, 0.02f);
  syclamp::loss_scaler scaler(engine, {.init_scale = 1024});
  const syclamp::matrix_view in(x.data(), rows, features), w(model.data(), 1, features), dy(out.data(), rows, 1);
  const auto train = [&] {
    linear(engine, in, w, {}, dy);
    scaler.begin_step();
    mean_squared_error(engine, dy, {y.data(), rows, 1}, {losses.data(), &losses[rows]}, dy,
                       syclamp::device_value(engine, scaler.device_scale()));
    linear_backward(engine, in, w, dy, {.weight = syclamp::matrix_view(gradients.data(), 1, features)});
    scaler.step(optimizer);
    scaler.update();
  };
  for (std::size_t step = 0; step < steps; ++step) {
    train();
    if (step % 20 == 19) engine.wait();  // nothing else waits; but long queues of tasks of the host are slow
  }
  // One more step, with a sample that makes the gradients overflow.
  const shared<float> weights = optimizer.weights, momentum = optimizer.momentum;
  y[7] = 1e6f;
  train();
  const syclamp::step_record last = scaler.outcome();  // waits
  const bool untouched = weights == optimizer.weights && momentum == optimizer.momentum;
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
