// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <sycl/sycl.hpp>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// The devices that SYCL reports.
/// \throws no_device_error with the environment variables that may be the cause, if SYCL cannot list the devices
std::vector<sycl::device> list_devices();

}  // namespace SYCLAMP_NAMESPACE
