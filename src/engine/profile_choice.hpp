// SPDX-License-Identifier: Apache-2.0
// Which tuning profile a device gets, and whether the device can run the kernels of a profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <sycl/sycl.hpp>

#include "backends/profiles.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// What a device allows a kernel to use.
struct device_limits {
  std::size_t max_group_size = 0;  ///< work-items of a work-group
  std::uint64_t local_memory = 0;  ///< bytes of a work-group
};

device_limits limits_of(const sycl::device& device);

/// Why kernels of a profile cannot run on a device; empty if they can. Sub-group sizes do not matter: a kernel asks
/// only for a size that the device has.
std::string misfit(const profile& tuning, const device_limits& limits);

/// The profile of a device.
struct profile_choice {
  const profile* tuning = nullptr;
  std::string note = {};  ///< why a profile that matches the device better is not used; empty if there is none
};

/// Chooses the first profile that matches a device and fits it. If none of those fits, chooses the first one that fits,
/// because every profile is correct on every device.
/// \throws no_device_error if no profile fits
profile_choice choose_profile(const backends::device_facts& facts, const device_limits& limits,
                              std::span<const profile> profiles = backends::profiles);

/// The profile that a caller requested, else the one that SYCLAMP_PROFILE names, else the choice for the device.
/// \throws invalid_argument if a profile was requested that does not exist or does not fit the device
profile_choice profile_for(const sycl::device& device, std::string_view requested);

}  // namespace SYCLAMP_NAMESPACE
