// SPDX-License-Identifier: Apache-2.0
// The DPC++ runtime that this process has loaded.
#pragma once

#include <string>

#include <sycl/sycl.hpp>

namespace syclamp::launch {

/// Which libsycl and which run-time compiler are loaded, precisely enough to tell two builds of a version apart.
std::string dpcpp_runtime_version();

/// The release of libsycl: the same on every machine that has it.
std::string dpcpp_runtime_release();

/// Why the driver of `device` cannot run the kernels: for lack of a feature, or from where it is installed. An empty
/// string if it can.
std::string driver_obstacle(const sycl::device& device);

/// Features that every kernel or every tensor list needs.
struct device_features {
  bool has_fp16 = true;
  bool has_device_memory = true;
  bool has_host_memory = true;
};

/// Which of them is missing, with the remedy; an empty string if none is.
std::string missing_feature(const device_features& features);

/// Variables of the environment that may hide devices, each with its value and the remedy; an empty string if none is
/// set.
std::string suspicious_environment();

}  // namespace syclamp::launch
