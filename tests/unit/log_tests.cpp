// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "engine/warn.hpp"
#include "syclamp/log.hpp"

TEST_CASE("warnings go to the handler, and the previous handler comes back") {
  std::string heard;
  auto previous = syclamp::on_warning([&](std::string_view line) { heard = line; });

  syclamp::warn("{} of {}", 1, 2);
  const auto mine = syclamp::on_warning(previous);

  CHECK(heard == "1 of 2");
  CHECK(previous != nullptr);
  CHECK(mine != nullptr);
}

TEST_CASE("a handler may replace itself while it is called, and an empty one drops warnings") {
  auto previous = syclamp::on_warning([](std::string_view) { syclamp::on_warning({}); });

  syclamp::warn("first");
  syclamp::warn("second");

  CHECK(syclamp::on_warning(previous) == nullptr);
}

TEST_CASE("a warning that a test does not expect fails the test", "[!shouldfail]") { syclamp::warn("unexpected"); }
