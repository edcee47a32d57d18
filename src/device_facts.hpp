// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sycl/sycl.hpp>

#include "backends/profiles.hpp"

namespace syclamp {

inline backends::device_facts facts_of(const sycl::device& device) {
  return {.is_cpu = device.is_cpu(),
          .is_gpu = device.is_gpu(),
          .vendor_id = device.get_info<sycl::info::device::vendor_id>()};
}

}  // namespace syclamp
