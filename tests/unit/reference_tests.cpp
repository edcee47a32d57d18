// SPDX-License-Identifier: Apache-2.0
// The oracle against facts that anyone can look up.
#include <cmath>

#include <catch2/catch_test_macros.hpp>

#include "tests/reference/inspect.hpp"
#include "tests/reference/random.hpp"

using namespace reference;

TEST_CASE("the oracle knows the landmarks of FP16, BF16 and FP32") {
  CHECK(decode(0x7bff, binary16).value == 65504.0);
  CHECK(decode(0x0001, binary16).value == std::ldexp(1.0, -24));
  CHECK(decode(0x0001, binary16).value_kind == kind::subnormal);
  CHECK(decode(0x0400, binary16).value_kind == kind::normal);
  CHECK(decode(0x8000, binary16).value_kind == kind::zero);
  CHECK(decode(0xfc00, binary16).value == -INFINITY);
  CHECK(decode(0x7c01, binary16).value_kind == kind::nan);
  CHECK(decode(0x3f80, bf16).value == 1.0);
  CHECK(decode(0xff80, bf16).value_kind == kind::infinity);
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
  CHECK(encode(3.4e38, bf16) == 0x7f80);
  CHECK(encode(NAN, bf16) == 0x7fc0);
  for (std::uint64_t bits = 0; bits < 0x7c00; ++bits) CHECK(encode(decode(bits, binary16).value, binary16) == bits);
}

TEST_CASE("the oracle knows FP8 as OCP defines it, and FP64") {
  CHECK(largest(e4m3) == 448.0);
  CHECK(decode(0x01, e4m3).value == std::ldexp(1.0, -9));
  CHECK(decode(0x08, e4m3).value == std::ldexp(1.0, -6));
  CHECK(decode(0x7f, e4m3).value_kind == kind::nan);
  CHECK(decode(0x78, e4m3).value == 256.0);
  CHECK(encode(464.0, e4m3) == 0x7e);  // between 448 and the 480 that would be next: to even
  CHECK(encode(464.1, e4m3) == 0x7f);
  CHECK(encode(464.1, e4m3, true) == 0x7e);
  CHECK(encode(-INFINITY, e4m3, true) == 0xfe);
  CHECK(largest(e5m2) == 57344.0);
  CHECK(decode(0x01, e5m2).value == std::ldexp(1.0, -16));
  CHECK(encode(61440.0, e5m2) == 0x7c);
  CHECK(decode(0x7e37e43c8800759c, binary64).value == 1e300);
  CHECK(encode(0.1, binary64) == 0x3fb999999999999a);
  CHECK(is_beyond(65520.0, binary16));
  CHECK_FALSE(is_beyond(65519.0, binary16));
}

TEST_CASE("the oracle rounds at random as the random bits say") {
  const float quarter = 1.0f + 0x1p-12f;  // a quarter of the way from 1 to the next FP16, 13 bits are cut off
  CHECK(encode_at_random(quarter, binary16, 0x17ff) == 0x3c00);
  CHECK(encode_at_random(quarter, binary16, 0x1800) == 0x3c01);
  CHECK(encode_at_random(-quarter, binary16, 0xfffff800) == 0xbc01);
  CHECK(encode_at_random(0x1p-25f, binary16, 0x7fffff) == 0x0000);  // half of the smallest: 24 bits
  CHECK(encode_at_random(0x1p-25f, binary16, 0x800000) == 0x0001);
  CHECK(encode_at_random(1.0f, bf16, 0xffffffff) == 0x3f80);
}

TEST_CASE("Philox gives its authors' known answers") {
  CHECK(philox({0, 0}, 0) == word_pair{0xff1dae59, 0x6cd10df2});
  CHECK(philox({0xffffffff, 0xffffffff}, 0xffffffff) == word_pair{0x2c3f628b, 0xab4fd7ad});
  CHECK(philox({0x243f6a88, 0x85a308d3}, 0x13198a2e) == word_pair{0xdd7ce038, 0xf62a4c12});
}

TEST_CASE("the oracle leaves bad elements out of amax and sum") {
  const std::uint32_t bits[] = {0x4200 /* 3 */, 0x7c00 /* Inf */, 0xc400 /* -4 */, 0x7e00 /* NaN */, 0x0000};

  const statistics found = inspect(5, binary16, [&](std::uint64_t i) { return bits[i]; });

  CHECK(found.inf_count == 1);
  CHECK(found.nan_count == 1);
  CHECK(found.zero_count == 1);
  CHECK(found.first_nonfinite == 1);
  CHECK(found.amax == 4.0);
  CHECK(found.sum_of_squares == 25.0);
}
