// SPDX-License-Identifier: Apache-2.0
// GPUs that the system has and SYCL does not show.
#pragma once

#include <string>
#include <vector>

namespace syclamp::verify {

/// Device files that the drivers of GPUs make, as far as they exist: /dev/nvidia0, /dev/kfd, /dev/dri/renderD…
std::vector<std::string> gpu_device_files();

/// What to install so that SYCL shows the GPU behind each file. For systems where SYCL shows no GPU at all.
std::vector<std::string> advise_on_device_files(const std::vector<std::string>& files);

}  // namespace syclamp::verify
