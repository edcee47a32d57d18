// SPDX-License-Identifier: Apache-2.0
// The launch seam of the mode `jit`. A file of its own: the test programs that execute PTX have
// tools/emulator/kernel_library.cpp in its place.
#include "launch/kernel_library.hpp"

#include <memory>

#include <sycl/sycl.hpp>

#include "launch/jit/compiled_library.hpp"
#include "launch/operation.hpp"

namespace syclamp::launch {

std::unique_ptr<kernel_library> make_kernel_library(const sycl::queue& queue, const profile& tuning) {
  return jit::make_compiled_library(queue, tuning);
}

}  // namespace syclamp::launch
