// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <set>

#include <catch2/catch_test_macros.hpp>

#include "backends/profiles.hpp"
#include "engine/device_facts.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;
using backends::choose;

TEST_CASE("a device gets the profile of its family") {
  CHECK(choose({.is_cpu = true, .vendor_id = backends::intel_vendor}).name == "cpu");
  CHECK(choose({.is_cpu = true, .vendor_id = backends::amd_vendor}).name == "cpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::intel_vendor}).name == "intel_gpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::nvidia_vendor}).name == "nvidia_gpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::amd_vendor}).name == "amd_gpu");
  CHECK(choose({.is_gpu = true, .vendor_id = 0x1234}).name == "generic");
  CHECK(choose({}).name == "generic");
}

TEST_CASE("a maker is known by id, or else by name") {
  CHECK(vendor_of(0x10de, "") == backends::nvidia_vendor);
  CHECK(vendor_of(1022, "AMD") == backends::amd_vendor);
  CHECK(vendor_of(0, "Advanced Micro Devices, Inc.") == backends::amd_vendor);
  CHECK(vendor_of(0, "Intel(R) Corporation") == backends::intel_vendor);
  CHECK(vendor_of(0x1234, "Abacus Ltd.") == 0x1234);
}

TEST_CASE("profiles have names of their own and sizes that kernels can use") {
  std::set<std::string_view> names;
  for (const profile& one : backends::profiles) {
    CAPTURE(one.name);
    CHECK(names.insert(one.name).second);
    for (const traversal& walk : {one.inspect, one.convert, one.blocks, one.matrix}) {
      CHECK(std::has_single_bit(walk.pack_bytes));
      CHECK(std::has_single_bit(walk.most_lanes));
      CHECK(walk.most_lanes >= 2);   // there are no packs of one
      CHECK(walk.pack_bytes >= 16);  // of which two FP64 are one
      CHECK(std::has_single_bit(walk.group_size));
      CHECK(walk.group_size <= largest_group(one));
      CHECK(walk.groups_per_unit > 0);
    }
    CHECK(largest_group(one) <= 1024);
  }
}
