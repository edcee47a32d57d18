// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer_rules.hpp"

#include <cmath>
#include <random>

#include <catch2/catch_test_macros.hpp>

#include "syclamp/error.hpp"

namespace {

syclamp::hyper_parameters hyper_of(double beta) { return syclamp::rule_of(syclamp::adam{.betas = {beta, beta}}).hyper; }

}  // namespace

TEST_CASE("every beta that can be set is one that a file may have") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0.0, 1.0), exponent(-320.0, 0.0);
  for (int i = 0; i < 100'000; ++i)
    for (const double beta : {uniform(random), 1.0 - std::pow(10.0, exponent(random) / 20.0),
                              std::pow(10.0, exponent(random)), std::pow(10.0, exponent(random) / 8.0)}) {
      if (!(beta >= 0.0 && beta < 1.0)) continue;
      INFO(beta);
      REQUIRE_NOTHROW(syclamp::check("adam", hyper_of(beta)));
    }
}

TEST_CASE("numbers of two betas are not taken for one") {
  for (const double beta : {0.0, 1e-30, 0.1, 0.9, 0.999, 0.99999})
    for (const double other : {0.2, 0.5, 0.95, 0.9999}) {
      const syclamp::hyper_parameters right = hyper_of(beta), wrong = hyper_of(other);
      CAPTURE(beta, other);
      syclamp::hyper_parameters mixed = right;
      mixed.beta1.value = wrong.beta1.value;
      CHECK_THROWS_AS(syclamp::check("adam", mixed), syclamp::invalid_argument);
      mixed = right;
      mixed.beta1.complement = wrong.beta1.complement;
      CHECK_THROWS_AS(syclamp::check("adam", mixed), syclamp::invalid_argument);
      mixed = right;
      mixed.beta2.logarithm = wrong.beta2.logarithm;
      CHECK_THROWS_AS(syclamp::check("adam", mixed), syclamp::invalid_argument);
    }
}
