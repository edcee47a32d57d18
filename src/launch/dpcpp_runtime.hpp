// SPDX-License-Identifier: Apache-2.0
// The DPC++ runtime that this process has loaded.
#pragma once

#include <string>

namespace syclamp::launch {

/// Which libsycl and which run-time compiler are loaded, precisely enough to tell two builds of a version apart.
std::string dpcpp_runtime_version();

}  // namespace syclamp::launch
