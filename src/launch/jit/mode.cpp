// SPDX-License-Identifier: Apache-2.0
// What the mode `jit` says of itself and of devices.
#include <fmt/format.h>

#include "launch/dpcpp_runtime.hpp"
#include "launch/jit/kernel_cache.hpp"
#include "launch/kernel_library.hpp"

namespace syclamp::launch {

std::string_view mode() { return "jit"; }

std::string compiler() { return fmt::format("DPC++ {} run-time compiler", __SYCL_COMPILER_VERSION); }

std::string cache_folder() { return jit::kernel_cache::default_folder().string(); }

std::string environment_hint() { return suspicious_environment(); }

std::string obstacle(const sycl::device& device) {
  if (std::string problem = driver_obstacle(device); !problem.empty()) return problem;
  // This query loads the run-time compiler, which precompiled kernels do not need.
  const sycl::backend backend = device.get_backend();
  if (backend == sycl::backend::opencl || backend == sycl::backend::ext_oneapi_level_zero) return {};
  sycl::device copy = device;  // the query is not const
  if (copy.ext_oneapi_can_build(sycl::ext::oneapi::experimental::source_language::sycl)) return {};
  return "the run-time compiler has no target for this device; build syclamp ahead of time for it "
         "(preset aot-dpcpp with the vendor's plugin, or aot-acpp)";
}

}  // namespace syclamp::launch
