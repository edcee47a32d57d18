// Finds the gradient that overflowed. Build: find_package(syclamp CONFIG REQUIRED), link to syclamp::syclamp.
#include <syclamp/syclamp.hpp>

#include <iostream>
#include <vector>

int main() try {
  const syclamp::engine engine;  // the best device; or engine(your_in_order_queue)
  sycl::queue& queue = engine.queue();

  // Gradients of a loss that was scaled by 2^16: small ones survive in FP16, but one has become infinite.
  std::vector<sycl::half> host(1'000'000, sycl::half(5.0e-8f * 65536));
  host[0] = sycl::half(0.0f);
  host[123'456] = sycl::half(70000.0f);
  sycl::half* gradients = sycl::malloc_device<sycl::half>(host.size(), queue);
  queue.copy(host.data(), gradients, host.size());

  const syclamp::tensor_list list(engine, {{{gradients, host.size()}, "layer1.weight"}});  // any number of tensors
  const syclamp::inspector inspect(list);             // once; allocates and compiles
  inspect();                                          // each step; returns at once
  const syclamp::inspection seen = inspect.result();  // waits

  std::cout << seen.elements << " gradients: " << seen.infs << " Inf, " << seen.nans << " NaN, " << seen.zeros
            << " zero, " << seen.subnormals << " subnormal\n";
  if (!seen.all_finite())
    std::cout << "do not apply this step: " << list.name(seen.first_bad_tensor) << '[' << seen.first_bad
              << "] is not finite\n";
  sycl::free(gradients, queue);
  return seen.first_bad == 123'456 ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
