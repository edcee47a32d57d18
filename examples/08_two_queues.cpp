// A model in two parts on separate queues, as in model parallelism. One scaler serves both: either both parts step, or
// neither does. The queues share a context, so events order them and the host never waits.
//
// On step 50 a gradient of the second part overflows. The step is skipped on both queues.
#include <syclamp/nn/nn.hpp>
#include <syclamp/syclamp.hpp>

#include <cstdint>
#include <iostream>
#include <limits>
#include <vector>

namespace nn = syclamp::nn;

using syclamp::device_array;

/// Learns weights that equal a target.
struct model_part {
  static constexpr std::size_t size = 1000;

  explicit model_part(const sycl::queue& queue)
      : engine(queue),
        optimizer(engine, {{.gradient = gradient, .model = weights, .name = "weights"}}, syclamp::sgd{.lr = 100.0}) {}

  /// \return an event that is complete when the gradients have been written
  sycl::event backward(const float* scale, const std::vector<sycl::event>& dependencies) {
    return nn::mean_squared_error(engine, {weights.data(), 1, size}, {target.data(), 1, size},
                                  {losses.data(), losses.data() + 1}, nn::matrix_view(gradient.data(), 1, size),
                                  syclamp::device_value(engine, scale), dependencies);
  }

  syclamp::engine engine;
  device_array<float> weights{engine, size, 0.0f}, target{engine, size, 3.0f}, gradient{engine, size},
      losses{engine, 2};
  syclamp::fused_optimizer optimizer;
};

int main() try {
  constexpr int steps = 100;
  const sycl::queue queue = syclamp::engine().queue();  // on the best device
  const auto another = [&] {
    return sycl::queue{queue.get_context(), queue.get_device(), sycl::property::queue::in_order{}};
  };
  model_part first(queue), second(another());
  syclamp::loss_scaler scaler(first.engine);  // uses the first queue
  syclamp::optimizer* const both[] = {&first.optimizer, &second.optimizer};
  for (syclamp::optimizer* part : both) scaler.prepare(part->gradients());

  const std::uint64_t waits = first.engine.statistics().waits + second.engine.statistics().waits;
  for (int step = 0; step < steps; ++step) {
    const float* scale = scaler.begin_step();
    first.backward(scale, {});
    second.backward(scale, {scaler.scale_ready()});  // the first queue writes the scale
    if (step == 50) second.engine.queue().fill(second.gradient.data(), std::numeric_limits<float>::infinity(), 1);
    scaler.step(both);
    scaler.update();
  }
  const bool has_waited = first.engine.statistics().waits + second.engine.statistics().waits != waits;

  bool good = !has_waited;
  for (model_part* part : {&first, &second}) {
    const std::uint64_t made = part->optimizer.steps();
    const float weight = part->weights.to_vector().back();
    std::cout << made << " steps of " << steps << ", weights " << weight << ", to become 3\n";
    good = good && made == steps - 1 && weight > 2.99f && weight < 3.01f;
  }
  std::cout << "scale " << scaler.get_scale() << (has_waited ? ", the host has waited\n" : ", the host never waited\n");
  return good && scaler.get_scale() == 32768.0f ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
