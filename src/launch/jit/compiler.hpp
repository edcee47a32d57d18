// SPDX-License-Identifier: Apache-2.0
// DPC++'s in-process compiler, and the driver's, which makes native code of SPIR-V.
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

/// Everything but the source on which SPIR-V depends: compiler, runtime, options. It is the same on every machine.
std::string spirv_key();

/// Compiles `source`, which may include the embedded headers, to SPIR-V in a file that `link` takes. The result depends
/// on no device. `device` only selects the compiler.
/// \throws kernel_build_error with the compiler's log
std::vector<char> compile(const sycl::device& device, const std::string& source,
                          const std::vector<std::string>& options = build_options());

/// Makes native code of SPIR-V, as bytes that `load` takes. Needs the driver, but no compiler of SYCL.
/// \throws sycl::exception if the bytes are not what `compile` makes, or if the driver refuses them
std::vector<char> link(const sycl::context& context, const sycl::device& device, std::vector<char>& spirv);

/// The error for kernels that cannot be built. Its message has the cause, see build_log.hpp.
kernel_build_error build_error(const sycl::device& device, const std::string& log);

/// \throws sycl::exception if the bytes are not native code for this device
bundle load(const sycl::context& context, const sycl::device& device, std::vector<char>& native);

}  // namespace syclamp::launch::jit
