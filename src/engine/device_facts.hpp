// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <sycl/sycl.hpp>

#include "backends/profiles.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// The maker's PCI vendor id, from what a runtime reports: not all of them report the id (AdaptiveCpp's HIP does not).
constexpr std::uint32_t vendor_of(std::uint32_t reported_id, std::string_view reported_name) {
  struct maker {
    std::string_view word;
    std::uint32_t id;
  };
  constexpr maker makers[] = {{"NVIDIA", backends::nvidia_vendor},
                              {"AMD", backends::amd_vendor},
                              {"Advanced Micro", backends::amd_vendor},
                              {"Intel", backends::intel_vendor}};
  for (const maker& vendor : makers)
    if (reported_id == vendor.id) return vendor.id;
  for (const maker& vendor : makers)
    if (reported_name.find(vendor.word) != reported_name.npos) return vendor.id;
  return reported_id;
}

/// The smallest of the sizes, 0 if there are none.
constexpr std::uint32_t smallest(std::span<const std::size_t> sizes) {
  return sizes.empty() ? 0 : static_cast<std::uint32_t>(std::ranges::min(sizes));
}

inline backends::device_facts facts_of(const sycl::device& device) {
  return {.is_cpu = device.is_cpu(),
          .is_gpu = device.is_gpu(),
          .vendor_id = vendor_of(device.get_info<sycl::info::device::vendor_id>(),
                                 device.get_info<sycl::info::device::vendor>()),
          .min_sub_group_size = smallest(device.get_info<sycl::info::device::sub_group_sizes>())};
}

}  // namespace SYCLAMP_NAMESPACE
