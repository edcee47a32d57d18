// SPDX-License-Identifier: Apache-2.0
// All profiles, and which one a device gets. To add a backend: one file beside this one, one line in `profiles`, one
// line in `choose`.
#pragma once

#include <array>

#include "amd_gpu.hpp"
#include "cpu.hpp"
#include "generic.hpp"
#include "intel_gpu.hpp"
#include "nvidia_gpu.hpp"

namespace syclamp::backends {

inline constexpr std::array profiles{cpu, intel_gpu, nvidia_gpu, amd_gpu, generic};  // `choose` counts on the order

/// What is known of a device when its profile is chosen.
struct device_facts {
  bool is_cpu = false;
  bool is_gpu = false;
  std::uint32_t vendor_id = 0;  ///< as on the PCI bus
};

inline constexpr std::uint32_t intel_vendor = 0x8086;
inline constexpr std::uint32_t nvidia_vendor = 0x10de;
inline constexpr std::uint32_t amd_vendor = 0x1002;

constexpr const profile& choose(const device_facts& device) {
  if (device.is_cpu) return profiles[0];
  if (device.is_gpu && device.vendor_id == intel_vendor) return profiles[1];
  if (device.is_gpu && device.vendor_id == nvidia_vendor) return profiles[2];
  if (device.is_gpu && device.vendor_id == amd_vendor) return profiles[3];
  return profiles[4];
}

}  // namespace syclamp::backends
