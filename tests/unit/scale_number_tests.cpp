// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic on scales against the processor's FP64, bit for bit.
#include <cmath>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "scaler/scale_numbers.hpp"
#include "sycl_kernels/shared/maths.hpp"

using namespace syclamp;

namespace {

/// Significands that are random, all ones, a power of two or close to a tie; exponents of scales.
double random_number(std::mt19937_64& random) {
  const int exponent = std::uniform_int_distribution(-126, 126)(random);
  const std::uint64_t bits = random() >> 12, kind = random() % 4;
  const std::uint64_t fraction = kind == 0   ? bits
                                 : kind == 1 ? 0
                                 : kind == 2 ? bits | 0xfffffffff
                                             : bits & ~0xfffffffull;
  return std::ldexp(1.0 + std::ldexp(static_cast<double>(fraction), -52), exponent);
}

}  // namespace

TEST_CASE("products and quotients of scales are those of FP64, and so is rounding to FP32") {
  std::mt19937_64 random(20261116);
  for (int i = 0; i < 200'000; ++i) {
    const double a = random_number(random), b = random_number(random);
    const scale_number x = to_scale_number(a), y = to_scale_number(b);
    REQUIRE(to_double(x) == a);
    REQUIRE(to_double(kernels::multiply(x, y)) == a * b);
    REQUIRE(to_double(kernels::divide(x, y)) == a / b);
    REQUIRE(kernels::compare(x, y) == (a > b) - (a < b));
    if (a < 0x1.ffffffp127) REQUIRE(kernels::to_float(x) == static_cast<float>(a));
    REQUIRE(to_double(kernels::from_float(static_cast<float>(a))) == static_cast<double>(static_cast<float>(a)));
  }
}

TEST_CASE("ties of scales go to even, and carries move on to the exponent") {
  const auto product = [](double a, double b) {
    return to_double(kernels::multiply(to_scale_number(a), to_scale_number(b)));
  };
  CHECK(product(1.0 + 0x1p-52, 1.5) == (1.0 + 0x1p-52) * 1.5);          // a tie, up to even
  CHECK(product(1.0 + 3 * 0x1p-52, 1.5) == (1.0 + 3 * 0x1p-52) * 1.5);  // a tie, down to even
  CHECK(product(2.0 - 0x1p-52, 1.0 + 0x1p-53) == 2.0 - 0x1p-52);
  CHECK(kernels::to_float(to_scale_number(2.0 - 0x1p-52)) == 2.0f);  // carries into the exponent
  CHECK(kernels::compare({}, to_scale_number(1)) < 0);
  CHECK(to_double(kernels::from_integer(3)) == 3.0);
}

TEST_CASE("logarithm and power are right to a few units in the last place") {
  // The series end below 2^-26 relatively; with the roundings of seven steps, each half a unit, 8 units are enough. A
  // logarithm is added to its exponent: one more rounding, of at most 2^-17 in absolute value for exponents up to 127.
  for (int i = -1250; i < 1270; ++i) {
    const float x = static_cast<float>(i) / 10;
    const double power = std::exp2(static_cast<double>(x));
    REQUIRE(std::abs(kernels::exp2_of(x) - power) <= 8 * 0x1p-24 * power);
    const auto y = static_cast<float>(power);
    REQUIRE(std::abs(kernels::log2_of(y) - std::log2(static_cast<double>(y))) <= 0x1p-17);
  }
  CHECK(kernels::root_of(0.0f) == 0.0f);
  CHECK(std::abs(kernels::root_of(2.0f) - std::sqrt(2.0)) < 1e-6);
}
