// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>

#include "syclamp/inspection.hpp"

TEST_CASE("headroom counts the doublings that are left") {
  syclamp::inspection result;
  result.amax_bits = std::bit_cast<std::uint64_t>(65504.0 / 1024.0);

  CHECK(result.headroom() == 10.0);
  CHECK(result.headroom(65504.0 / 2048.0) == -1.0);
}

TEST_CASE("headroom of zeros is endless, of bad data there is none") {
  syclamp::inspection zeros, bad;
  bad.amax_bits = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());

  CHECK(zeros.headroom() == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(bad.headroom()));
}

TEST_CASE("norm is the root of the sum of squares, also where FP32 could not square it back") {
  syclamp::inspection result;
  result.sum_of_squares = 1e-40f;  // subnormal

  CHECK(result.norm() == std::sqrt(static_cast<double>(1e-40f)));
}

TEST_CASE("norms are those that their names say") {
  syclamp::inspection result;
  result.amax_bits = std::bit_cast<std::uint64_t>(1e300);
  result.sum_of_squares = 16.0f;
  result.abs_sum = 6.0f;

  CHECK(result.norm(syclamp::norm_kind::l2) == 4.0);
  CHECK(result.norm(syclamp::norm_kind::l1) == 6.0);
  CHECK(result.norm(syclamp::norm_kind::l_infinity) == 1e300);
}
