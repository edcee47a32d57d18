// SPDX-License-Identifier: Apache-2.0
#include "engine/pci.hpp"

#include <fstream>
#include <string>
#include <system_error>

namespace SYCLAMP_NAMESPACE {
namespace {

/// A number like 0x030200 in a file of one line; 0 if there is none.
std::uint32_t read_hex(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::uint32_t value = 0;
  stream >> std::hex >> value;
  return stream ? value : 0;
}

}  // namespace

std::vector<std::uint32_t> gpu_vendors_on_bus(const std::filesystem::path& devices) {
  std::vector<std::uint32_t> vendors;
  std::error_code failed;
  for (const auto& device : std::filesystem::directory_iterator(devices, failed)) {
    const std::uint32_t base_class = read_hex(device.path() / "class") >> 16;
    constexpr std::uint32_t display_controller = 0x03, processing_accelerator = 0x12;
    if (base_class == display_controller || base_class == processing_accelerator)
      vendors.push_back(read_hex(device.path() / "vendor"));
  }
  return vendors;
}

}  // namespace SYCLAMP_NAMESPACE
