// SPDX-License-Identifier: Apache-2.0
// The engine that all classes of syclamp.torch share.
#pragma once

#include <syclamp/engine.hpp>

namespace syclamp::python {

/// The engine of all CPU tensors: made at the first call, then the same for the whole process.
const engine& cpu_engine();

}  // namespace syclamp::python
