// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;

TEST_CASE("the arithmetic of every device is strict") {
  for (const engine& engine : all_engines()) {
    CAPTURE(engine.profile_name());
    const arithmetic_report report = test_arithmetic(engine);

    for (const auto& check : report.checks) {
      CAPTURE(check.name);
      CHECK((check.passed || !check.relied_upon));
    }
    CHECK(report.sound());
  }
}

TEST_CASE("a report is sound if it has checks and those relied upon passed") {
  CHECK_FALSE(arithmetic_report{}.sound());
  CHECK(arithmetic_report{{{"a", true, true}, {"b", false, false}}}.sound());
  CHECK_FALSE(arithmetic_report{{{"a", true, true}, {"b", false, true}}}.sound());
}

TEST_CASE("the report names the device, and its profile and cache are those in use") {
  const system_report report = describe_system();

  REQUIRE_FALSE(report.devices.empty());
  CHECK(report.version == library_version());
  bool usable = false;
  for (const auto& device : report.devices) {
    CHECK_FALSE(device.name.empty());
    CHECK_FALSE(device.driver.empty());
    CHECK(device.usable == device.problem.empty());
    usable |= device.usable;
  }
  CHECK(usable);
}
