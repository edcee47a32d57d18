// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Vendor ids of the display controllers and processing accelerators on the PCI bus, in no particular order. Empty
/// where the bus cannot be seen.
std::vector<std::uint32_t> gpu_vendors_on_bus(const std::filesystem::path& devices = "/sys/bus/pci/devices");

}  // namespace SYCLAMP_NAMESPACE
