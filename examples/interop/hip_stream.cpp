// Loss scaling on gradients that HIP code computes on its own hipStream_t. Ordering the streams does not block the
// host.
//
// NOT RUN: compiled against the headers of HIP and DPC++, but never run, because the authors have no AMD GPU. It needs
// a syclamp built ahead of time (preset aot-dpcpp with amdgcn-amd-amdhsa) and DPC++'s plugin for AMD.
#include <syclamp/syclamp.hpp>

#include <cstdint>
#include <iostream>
#include <stdexcept>

#include <hip/hip_runtime_api.h>
#include <sycl/ext/oneapi/backend/hip.hpp>

namespace {

constexpr auto hip = sycl::backend::ext_oneapi_hip;

void check(hipError_t status) {
  if (status != hipSuccess) throw std::runtime_error(hipGetErrorString(status));
}

/// The SYCL device of HIP's current device.
sycl::device current_device() {
  int number = 0;
  check(hipGetDevice(&number));
  return sycl::make_device<hip>(number);
}

/// Work submitted to `second` from now on begins after the work submitted to `first` so far.
void order(hipStream_t first, hipStream_t second) {
  if (first == second) return;
  hipEvent_t event = nullptr;
  check(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  check(hipEventRecord(event, first));
  check(hipStreamWaitEvent(second, event, 0));
  check(hipEventDestroy(event));  // HIP frees the event after it has completed
}

/// An in-order SYCL queue for `stream`. A stream is in-order, but DPC++ up to at least 2026.2 wraps it in a queue that
/// reports the opposite. In that case, the result is a queue with a stream of its own, and `order` connects the two.
sycl::queue queue_for(hipStream_t stream) {
  const sycl::device device = current_device();
  const sycl::context context = device.get_platform().khr_get_default_context();
  sycl::queue wrapped = sycl::make_queue<hip>(stream, context);
  if (wrapped.is_in_order()) return wrapped;
  return sycl::queue{context, device, sycl::property::queue::in_order{}};
}

}  // namespace

int main() try {
  int devices = 0;
  if (hipGetDeviceCount(&devices) != hipSuccess || devices == 0) {
    std::cout << "there is no AMD GPU here\n";
    return 0;
  }

  // Your own code: a stream, and gradients that its kernels compute. If all bits are set, an FP16 number is a NaN.
  constexpr std::uint64_t elements = 1'000'000;
  hipStream_t stream = nullptr;
  check(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  void* gradients = nullptr;
  check(hipMalloc(&gradients, elements * sizeof(sycl::half)));
  check(hipMemsetAsync(gradients, 0, elements * sizeof(sycl::half), stream));
  check(hipMemsetAsync(static_cast<sycl::half*>(gradients) + 1234, 0xff, sizeof(sycl::half), stream));

  {
    const syclamp::engine engine(queue_for(stream));
    const hipStream_t engine_stream = sycl::get_native<hip>(engine.queue());
    const syclamp::tensor_list list(
        engine, {{.data = static_cast<sycl::half*>(gradients), .count = elements, .name = "weights"}});
    const syclamp::inspector inspect(list);

    order(stream, engine_stream);  // before syclamp reads what the stream computes
    inspect.run();
    order(engine_stream, stream);  // before the stream overwrites what syclamp reads

    const syclamp::inspection found = inspect.result();  // waits
    std::cout << found.nan_count << " NaN, the first at " << found.first_nonfinite << '\n';
  }
  check(hipFree(gradients));
  check(hipStreamDestroy(stream));
  return 0;
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
