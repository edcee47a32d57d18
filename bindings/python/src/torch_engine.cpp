// SPDX-License-Identifier: Apache-2.0
#include "torch_engine.hpp"

#include <string>

#include <syclamp/error.hpp>

namespace syclamp::python {
namespace {

sycl::queue cpu_queue() {
  try {
    return sycl::queue(sycl::cpu_selector_v, sycl::property::queue::in_order{});
  } catch (const sycl::exception& reason) {
    throw no_device_error(std::string("syclamp.torch: there is no SYCL device for CPU tensors; install the wheel "
                                      "intel-opencl-rt. The SYCL runtime says: ") +
                          reason.what());
  }
}

}  // namespace

const engine& cpu_engine() {
  // Never destroyed: objects of Python that use it may be destroyed after all static objects.
  static const engine* const shared = new engine(cpu_queue());
  return *shared;
}

}  // namespace syclamp::python
