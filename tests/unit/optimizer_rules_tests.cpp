// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer_rules.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/error.hpp"
#include "tests/support/optimizer_fields.hpp"

namespace {

syclamp::hyper_parameters hyper_of(double beta) { return syclamp::rule_of(syclamp::adam{.betas = {beta, beta}}).hyper; }

/// The settings with one number replaced are refused, with the name of the setting and the number.
template <typename Settings>
void check_refused(const Settings& settings, double& setting, const std::string& name, double value) {
  using namespace Catch::Matchers;
  const double before = std::exchange(setting, value);
  const std::string reason = value < 0 ? name + " is -" : value == 1 ? name + " is 1;" : name + " is ";
  CHECK_THROWS_MATCHES(syclamp::rule_of(settings), syclamp::invalid_argument,
                       MessageMatches(ContainsSubstring(reason)));
  setting = before;
}

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

TEST_CASE("a setting out of range is refused by its name and value, whatever the optimizer") {
  for (const syclamp::optimizer_settings& known : default_settings())
    std::visit(
        [](auto settings) {
          CAPTURE(syclamp::rule_of(settings).name);
          for_each_setting(settings, [&](const char* name, auto& member) {
            if constexpr (std::is_same_v<std::decay_t<decltype(member)>, double>)
              for (const double value : {-1.0, std::numeric_limits<double>::infinity(), std::nan("")})
                check_refused(settings, member, name, value);
          });
          for_each_rate(settings, [&](const std::string& name, double& rate) {
            for (const double value : {-1.0, 1.0, std::nan("")}) check_refused(settings, rate, name, value);
          });
          CHECK_NOTHROW(syclamp::rule_of(settings));
        },
        known);
}
