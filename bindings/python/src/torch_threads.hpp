// SPDX-License-Identifier: Apache-2.0
// PyTorch's worker threads, which share the cores with ours.
#pragma once

#include <cstdint>

namespace syclamp::python {

/// Ends the worker threads that PyTorch has started for the calling thread, if the step has at least some million
/// elements. PyTorch starts them again when it next needs them.
///
/// GNU's OpenMP runtime lets its threads spin for about 5 ms after their work, where they take half of every core from
/// the kernels of a step. Ending and starting them takes about 0.5 ms, so that small steps leave them alone. Without
/// GNU's runtime in the process this function does nothing.
void release_openmp_threads(std::uint64_t elements);

}  // namespace syclamp::python
