// SPDX-License-Identifier: Apache-2.0
// The DPC++ runtime that this process has loaded.
#pragma once

#include <string>

namespace syclamp::launch::jit {

/// Which libsycl is loaded, precisely enough to tell two builds of the same version apart.
std::string runtime_version();

}  // namespace syclamp::launch::jit
