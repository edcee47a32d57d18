// Finds the gradient that overflowed. Build: find_package(syclamp CONFIG REQUIRED), link to syclamp::syclamp.
#include <syclamp/syclamp.hpp>

#include <iostream>
#include <vector>

int main() try {
  const syclamp::engine engine;  // the best device; or engine(your_in_order_queue)

  // Gradients of a loss that was scaled by 2^16: small ones survive in FP16, but one has become infinite.
  std::vector<sycl::half> host(1'000'000, sycl::half(5.0e-8f * 65536));
  host[0] = sycl::half(0.0f);
  host[123'456] = sycl::half(70000.0f);
  const syclamp::device_array gradients(engine, host);

  const syclamp::tensor_list list(engine, {{.data = gradients, .name = "layer1.weight"}});  // any number of tensors
  const syclamp::inspector inspect(list);               // once; allocates and compiles
  inspect.run();                                        // each step; returns at once
  const syclamp::inspection result = inspect.result();  // waits

  std::cout << result.elements << " gradients: " << result.inf_count << " Inf, " << result.nan_count << " NaN, "
            << result.zero_count << " zero, " << result.subnormal_count << " subnormal\n";
  if (!result.all_finite())
    std::cout << "do not apply this step: " << list.name(result.first_nonfinite_tensor) << '[' << result.first_nonfinite
              << "] is not finite\n";
  return result.first_nonfinite == 123'456 ? 0 : 1;
} catch (const syclamp::error& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
