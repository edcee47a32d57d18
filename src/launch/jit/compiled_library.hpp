// SPDX-License-Identifier: Apache-2.0
// Kernels that DPC++'s run-time compiler makes: what the mode `jit` has behind the launch seam.
#pragma once

#include <memory>

#include "launch/kernel_library.hpp"

namespace syclamp::launch::jit {

std::unique_ptr<kernel_library> make_compiled_library(const sycl::queue& queue, const profile& tuning);

}  // namespace syclamp::launch::jit
