// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "syclamp/inspection.hpp"

TEST_CASE("headroom counts the doublings that are left") {
  syclamp::inspection seen;
  seen.worst_bits = std::bit_cast<std::uint64_t>(65504.0 / 1024.0);

  CHECK(syclamp::headroom(seen) == 10.0);
  CHECK(syclamp::headroom(seen, 65504.0 / 2048.0) == -1.0);
}

TEST_CASE("headroom of zeros is endless, of bad data there is none") {
  syclamp::inspection zeros, bad;
  bad.worst_bits = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());

  CHECK(syclamp::headroom(zeros) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(syclamp::headroom(bad)));
}

TEST_CASE("norm is the root of the sum of squares, also where FP32 could not square it back") {
  syclamp::inspection seen;
  seen.sum_of_squares = 1e-40f;  // subnormal

  CHECK(syclamp::norm(seen) == std::sqrt(static_cast<double>(1e-40f)));
}

TEST_CASE("norms are those that their names say") {
  syclamp::inspection seen;
  seen.worst_bits = std::bit_cast<std::uint64_t>(1e300);
  seen.sum_of_squares = 16.0f;
  seen.sum_of_magnitudes = 6.0f;

  CHECK(syclamp::norm(seen, syclamp::norm_kind::l2) == 4.0);
  CHECK(syclamp::norm(seen, syclamp::norm_kind::l1) == 6.0);
  CHECK(syclamp::norm(seen, syclamp::norm_kind::l_infinity) == 1e300);
}
