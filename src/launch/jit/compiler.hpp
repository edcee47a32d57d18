// SPDX-License-Identifier: Apache-2.0
// DPC++'s in-process compiler, and what it compiled.
#pragma once

#include <string>
#include <vector>

#include <sycl/sycl.hpp>

#include "syclamp/error.hpp"

namespace syclamp::launch::jit {

using bundle = sycl::kernel_bundle<sycl::bundle_state::executable>;

/// Options of every kernel: strict floating point (the list that CMake probed), optimisation, where the headers are.
const std::vector<std::string>& build_options();

/// Everything but the source on which compiled kernels depend: compiler, driver, device, options.
std::string environment_key(const sycl::device& device);

/// Compiles `source`, which may include the embedded headers.
/// \throws kernel_build_error with the compiler's log
bundle compile(const sycl::context& context, const sycl::device& device, const std::string& source,
               const std::vector<std::string>& options = build_options());

/// The error for kernels that cannot be built. Its message has the cause, see build_log.hpp.
kernel_build_error build_error(const sycl::device& device, const std::string& log);

std::vector<char> serialise(const bundle& compiled);

/// \throws sycl::exception if the bytes are not a bundle for this device
bundle deserialise(const sycl::context& context, const sycl::device& device, std::vector<char>& bytes);

}  // namespace syclamp::launch::jit
