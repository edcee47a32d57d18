// Loss scaling on gradients that CUDA code computes on its own cudaStream_t. Ordering the streams does not block the
// host.
//
// NOT RUN: compiled against CUDA and DPC++, but never run, because the authors have no NVIDIA GPU. It needs a syclamp
// built ahead of time (preset aot-dpcpp with nvptx64-nvidia-cuda) and DPC++'s plugin for NVIDIA.
#define SYCL_EXT_ONEAPI_BACKEND_CUDA_EXPERIMENTAL 1  // before any SYCL header; enables make_queue
#include <syclamp/syclamp.hpp>

#include <cstdint>
#include <iostream>
#include <stdexcept>

#include <cuda_runtime_api.h>
#include <sycl/ext/oneapi/experimental/backend/cuda.hpp>

namespace {

constexpr auto cuda = sycl::backend::ext_oneapi_cuda;

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

/// The SYCL device of CUDA's current device.
sycl::device current_device() {
  int number = 0;
  check(cudaGetDevice(&number));
  return sycl::make_device<cuda>(number);
}

/// Work submitted to `second` from now on begins after the work submitted to `first` so far.
void order(cudaStream_t first, cudaStream_t second) {
  if (first == second) return;
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  check(cudaEventRecord(event, first));
  check(cudaStreamWaitEvent(second, event, 0));
  check(cudaEventDestroy(event));  // CUDA frees the event after it has completed
}

/// An in-order SYCL queue for `stream`. A stream is in-order, but DPC++ up to at least 2026.2 wraps it in a queue that
/// reports the opposite. In that case, the result is a queue with a stream of its own, and `order` connects the two.
sycl::queue queue_for(cudaStream_t stream) {
  const sycl::device device = current_device();
  const sycl::context context = device.get_platform().khr_get_default_context();
  sycl::queue wrapped = sycl::make_queue<cuda>(stream, context);
  if (wrapped.is_in_order()) return wrapped;
  return sycl::queue{context, device, sycl::property::queue::in_order{}};
}

}  // namespace

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::cout << "there is no NVIDIA GPU here\n";
    return 0;
  }

  // Your own code: a stream, and gradients that its kernels compute. If all bits are set, an FP16 number is a NaN.
  constexpr std::uint64_t elements = 1'000'000;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  void* gradients = nullptr;
  check(cudaMalloc(&gradients, elements * sizeof(sycl::half)));
  check(cudaMemsetAsync(gradients, 0, elements * sizeof(sycl::half), stream));
  check(cudaMemsetAsync(static_cast<sycl::half*>(gradients) + 1234, 0xff, sizeof(sycl::half), stream));

  {
    const syclamp::engine engine(queue_for(stream));
    const cudaStream_t engine_stream = sycl::get_native<cuda>(engine.queue());
    const syclamp::tensor_list list(
        engine, {{.data = static_cast<sycl::half*>(gradients), .count = elements, .name = "weights"}});
    const syclamp::inspector inspect(list);

    order(stream, engine_stream);  // before syclamp reads what the stream computes
    inspect.run();
    order(engine_stream, stream);  // before the stream overwrites what syclamp reads

    const syclamp::inspection found = inspect.result();  // waits
    std::cout << found.nan_count << " NaN, the first at " << found.first_nonfinite << '\n';
  }
  check(cudaFree(gradients));
  check(cudaStreamDestroy(stream));
  return 0;
} catch (const std::exception& problem) {
  std::cerr << problem.what() << '\n';
  return 1;
}
