// SPDX-License-Identifier: Apache-2.0
// What measurements say of the device they were made on. The files of `bench` and `verify` have the same keys, so that
// one reader serves both.
#pragma once

#include <nlohmann/json.hpp>

#include "syclamp/syclamp.hpp"

namespace syclamp::program {

inline nlohmann::ordered_json context_of(const engine& engine, const system_report& system) {
  const sycl::device device = engine.queue().get_device();
  return {{"version", system.version},
          {"kernel_mode", system.kernel_mode},
          {"compiler", system.compiler},
          {"device", device.get_info<sycl::info::device::name>()},
          {"driver", device.get_info<sycl::info::device::driver_version>()},
          {"compute_units", device.get_info<sycl::info::device::max_compute_units>()},
          {"profile", engine.profile_name()}};
}

}  // namespace syclamp::program
