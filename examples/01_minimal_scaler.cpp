// A loss scaler around your own FP16 kernels. The gradients here are about 2e-8, which FP16 rounds to zero. Without a
// scale the model would learn nothing. One batch is an outlier: its gradients overflow, the step is skipped, and the
// scale backs off by itself.
//
// Your kernels do three things. They multiply the loss by the scale. They check the decision before they write a
// weight. They unscale each gradient with the decision. With a SYCL compiler, the update is a kernel and the host never
// waits:
//
//     queue.parallel_for(elements, [=](sycl::id<1> i) {
//       if (decision->apply == 0) return;
//       weights[i] -= rate * decision->gradient(static_cast<float>(gradients[i]));
//     });
//
// A plain C++ compiler cannot compile kernels. This example is for any compiler, so its "kernels" are loops on the
// host, and the host waits for the data that they read.
#include <syclamp/syclamp.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

int main() try {
  const syclamp::engine engine;
  sycl::queue& queue = engine.queue();

  constexpr std::size_t elements = 1000;
  constexpr float curvature = 2e-8f, rate = 0.5f / curvature;  // a flat loss, as large models have
  const syclamp::device_array<float> weight_memory(engine, elements, 0.0f, sycl::usm::alloc::host);
  const syclamp::device_array<sycl::half> gradient_memory(engine, elements, 0.0f, sycl::usm::alloc::host);
  float* weights = weight_memory.data();
  sycl::half* gradients = gradient_memory.data();
  const auto target = [](std::size_t i) { return std::sin(static_cast<float>(i)); };

  // Made once: the scaler and the list of gradients. The scale starts at 2^16, doubles after 2000 clean steps, and is
  // halved after an overflow.
  syclamp::loss_scaler scaler(engine);
  const syclamp::tensor_list list(engine, {{.data = gradient_memory, .name = "weights"}});

  std::size_t lost_without_scaling = 0;
  for (int step = 1; step <= 40; ++step) {
    // Forward and backward pass. Kernels would read the scale from device memory instead: *scaler.device_scale().
    const float scale = scaler.get_scale();  // waits
    scaler.begin_step();
    const float outlier = step == 10 ? 1e12f : 1.0f;
    for (std::size_t i = 0; i < elements; ++i) {
      const float gradient = curvature * (weights[i] - target(i)) * outlier;
      gradients[i] = static_cast<sycl::half>(gradient * scale);
      if (step == 1 && static_cast<float>(static_cast<sycl::half>(gradient)) == 0.0f) ++lost_without_scaling;
    }

    // The step: inspect the gradients, apply or skip, move the scale.
    const syclamp::step_decision* decision = scaler.inspect(list);
    syclamp::step_decision said;
    queue.memcpy(&said, decision, sizeof said).wait();
    if (said.apply != 0)
      for (std::size_t i = 0; i < elements; ++i) weights[i] -= rate * said.gradient(static_cast<float>(gradients[i]));
    scaler.update();
  }

  float worst = 0.0f;
  for (std::size_t i = 0; i < elements; ++i) worst = std::max(worst, std::abs(weights[i] - target(i)));
  const syclamp::step_record last = scaler.outcome();  // waits
  std::cout << lost_without_scaling << " of " << elements << " gradients would be zero in FP16 without a scale\n"
            << last.step << " steps, " << last.skipped << " skipped; scale " << last.next_scale
            << "; largest error of a weight " << worst << '\n';
  return lost_without_scaling == elements && last.skipped == 1 && last.next_scale == 32768.0f && worst < 1e-3f ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
