// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch_test_macros.hpp>

#include "engine/pci.hpp"
#include "tests/support/temporary_folder.hpp"

namespace {

void add_device(const std::filesystem::path& bus, const char* name, const char* class_code, const char* vendor) {
  std::filesystem::create_directories(bus / name);
  std::ofstream(bus / name / "class") << class_code << '\n';
  std::ofstream(bus / name / "vendor") << vendor << '\n';
}

}  // namespace

TEST_CASE("GPUs on the bus are found by their class, whoever made them") {
  const temporary_folder bus;
  add_device(bus.path(), "0000:00:00.0", "0x060000", "0x8086");  // host bridge
  add_device(bus.path(), "0000:01:00.0", "0x030000", "0x10de");  // display controller
  add_device(bus.path(), "0000:02:00.0", "0x120000", "0x1002");  // processing accelerator

  auto vendors = syclamp::gpu_vendors_on_bus(bus.path());

  std::ranges::sort(vendors);
  CHECK(vendors == std::vector<std::uint32_t>{0x1002, 0x10de});
}

TEST_CASE("a bus that cannot be read has no GPUs") {
  const temporary_folder bus;
  std::filesystem::create_directories(bus.path() / "empty");

  CHECK(syclamp::gpu_vendors_on_bus(bus.path() / "missing").empty());
  CHECK(syclamp::gpu_vendors_on_bus(bus.path()).empty());
}
