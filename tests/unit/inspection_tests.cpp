// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "syclamp/inspection.hpp"

TEST_CASE("headroom counts the doublings that are left") {
  syclamp::inspection seen;
  seen.amax = 65504.0f / 1024.0f;

  CHECK(syclamp::headroom(seen) == 10.0);
  CHECK(syclamp::headroom(seen, 65504.0 / 2048.0) == -1.0);
}

TEST_CASE("headroom of zeros is endless, of bad data there is none") {
  syclamp::inspection zeros, bad;
  bad.findings = syclamp::found_inf;
  bad.amax = std::numeric_limits<float>::infinity();

  CHECK(syclamp::headroom(zeros) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(syclamp::headroom(bad)));
}

TEST_CASE("norm is the root of the sum of squares, also where FP32 could not square it back") {
  syclamp::inspection seen;
  seen.sum_of_squares = 1e-40f;  // subnormal

  CHECK(syclamp::norm(seen) == std::sqrt(static_cast<double>(1e-40f)));
}
