// SPDX-License-Identifier: Apache-2.0
// The oracle against facts that anyone can look up.
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "tests/reference/inspect.hpp"

using namespace reference;

TEST_CASE("the oracle knows the landmarks of FP16, BF16 and FP32") {
  CHECK(decode(0x7bff, binary16).value == 65504.0);
  CHECK(decode(0x0001, binary16).value == std::ldexp(1.0, -24));
  CHECK(decode(0x0001, binary16).what == kind::subnormal);
  CHECK(decode(0x0400, binary16).what == kind::normal);
  CHECK(decode(0x8000, binary16).what == kind::zero);
  CHECK(decode(0xfc00, binary16).value == -INFINITY);
  CHECK(decode(0x7c01, binary16).what == kind::nan);
  CHECK(decode(0x3f80, brain16).value == 1.0);
  CHECK(decode(0xff80, brain16).what == kind::infinity);
  CHECK(decode(0x40490fdb, binary32).value == static_cast<double>(3.14159274101257324f));
  CHECK(decode(0x00000001, binary32).value == std::ldexp(1.0, -149));
}

TEST_CASE("the oracle rounds to nearest even and overflows to Inf") {
  CHECK(encode(1.0, binary16) == 0x3c00);
  CHECK(encode(2049.0, binary16) == 0x6800);  // between 2048 and 2050
  CHECK(encode(2051.0, binary16) == 0x6802);
  CHECK(encode(65519.99, binary16) == 0x7bff);
  CHECK(encode(65520.0, binary16) == 0x7c00);
  CHECK(encode(-std::ldexp(1.0, -25), binary16) == 0x8000);  // half of the smallest: to even, that is zero
  CHECK(encode(std::ldexp(1.5, -25), binary16) == 0x0001);
  CHECK(encode(std::ldexp(1.0, -14) * (1 - 0x1p-12), binary16) == 0x0400);  // the largest subnormal, rounded up
  CHECK(encode(3.4e38, brain16) == 0x7f80);
  CHECK(encode(NAN, brain16) == 0x7fc0);
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) CHECK(encode(decode(bits, binary16).value, binary16) == bits);
}

TEST_CASE("the oracle leaves bad elements out of amax and sum") {
  const std::uint32_t bits[] = {0x4200 /* 3 */, 0x7c00 /* Inf */, 0xc400 /* -4 */, 0x7e00 /* NaN */, 0x0000};

  const findings found = inspect(5, binary16, [&](std::uint64_t i) { return bits[i]; });

  CHECK(found.infs == 1);
  CHECK(found.nans == 1);
  CHECK(found.zeros == 1);
  CHECK(found.first_bad == 1);
  CHECK(found.amax == 4.0);
  CHECK(found.sum_of_squares == 25.0);
}
