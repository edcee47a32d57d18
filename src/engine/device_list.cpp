// SPDX-License-Identifier: Apache-2.0
#include "engine/device_list.hpp"

#include <fmt/format.h>

#include "launch/kernel_library.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {

std::vector<sycl::device> list_devices() {
  try {
    return sycl::device::get_devices();
  } catch (const sycl::exception& fault) {
    const std::string hint = launch::environment_hint();
    throw no_device_error(fmt::format("SYCL cannot list its devices and reports \"{}\"; {}", fault.what(),
                                      hint.empty() ? "check the SYCL runtime and its drivers" : hint));
  }
}

}  // namespace SYCLAMP_NAMESPACE
