// SPDX-License-Identifier: Apache-2.0
// Callers that keep checkpoints of their own, such as the Python package, set step counts and moments.
#include <limits>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr std::size_t elements = 3'000;

std::vector<float> numbers(float first) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = first + static_cast<float>(i % 97) / 64.0f;
  return values;
}

/// Two parameters in two groups, with memory of the caller for all moments.
struct owned_moments {
  owned_moments(const engine& engine, const optimizer_settings& settings)
      : gradients(engine.queue(), numbers(-0.5f)),
        weights{{engine.queue(), numbers(1.0f)}, {engine.queue(), numbers(2.0f)}},
        moments{{engine.queue(), std::vector<float>(2 * elements)}, {engine.queue(), std::vector<float>(2 * elements)}},
        optimizer(engine, describe(), {settings, settings}) {}

  std::vector<parameter> describe() {
    std::vector<parameter> all;
    for (std::uint32_t i = 0; i < 2; ++i)
      all.push_back({.gradient = {gradients.data(), elements},
                     .model = {weights[i].data(), elements},
                     .states = {moments[0].data() + i * elements, moments[1].data() + i * elements, nullptr},
                     .group = i});
    return all;
  }

  std::vector<std::vector<float>> contents() {
    return {weights[0].read(), weights[1].read(), moments[0].read(), moments[1].read()};
  }

  void copy_to(owned_moments& other) {
    sycl::queue& queue = optimizer.get_engine().queue();
    for (std::size_t i = 0; i < 2; ++i) {
      queue.memcpy(other.weights[i].data(), weights[i].data(), elements * sizeof(float));
      queue.memcpy(other.moments[i].data(), moments[i].data(), 2 * elements * sizeof(float));
    }
    queue.wait();
  }

  device_buffer<float> gradients, weights[2], moments[2];
  fused_optimizer optimizer;
};

}  // namespace

TEST_CASE("an optimizer continues bit-identically from moments and step counts of its caller", "[optimizers]") {
  const engine& engine = any_engine();
  owned_moments whole(engine, adamw{}), resumed(engine, adamw{});
  for (int step = 0; step < 3; ++step) whole.optimizer.apply();
  engine.wait();
  whole.copy_to(resumed);
  resumed.optimizer.set_steps(std::vector<std::uint64_t>{3, 3});
  CHECK(resumed.optimizer.steps(1) == 3);
  CHECK(resumed.optimizer.progress(1).applied == 3);
  CHECK(resumed.optimizer.progress(1).finished == 0);
  for (int step = 0; step < 2; ++step) {
    whole.optimizer.apply();
    resumed.optimizer.apply();
  }
  engine.wait();
  CHECK(whole.contents() == resumed.contents());
  CHECK(resumed.optimizer.progress(0).applied == 5);
  CHECK_THROWS_MATCHES(resumed.optimizer.set_steps(std::vector<std::uint64_t>{3}), invalid_argument,
                       MessageMatches(ContainsSubstring("1 numbers") && ContainsSubstring("2 groups")));
}

TEST_CASE("NovoGrad's second moments can be read and set", "[optimizers]") {
  const engine& engine = any_engine();
  owned_moments whole(engine, novograd{}), resumed(engine, novograd{});
  for (int step = 0; step < 3; ++step) whole.optimizer.apply();
  engine.wait();
  const std::vector<float> moments = whole.optimizer.tensor_moments();
  REQUIRE(moments.size() == 2);
  CHECK(moments[0] > 0.0f);
  whole.copy_to(resumed);
  resumed.optimizer.set_steps(std::vector<std::uint64_t>{3, 3});
  resumed.optimizer.set_tensor_moments(moments);
  whole.optimizer.apply();
  resumed.optimizer.apply();
  engine.wait();
  CHECK(whole.contents() == resumed.contents());
  CHECK(whole.optimizer.tensor_moments() == resumed.optimizer.tensor_moments());

  for (const float bad : {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    CHECK_THROWS_MATCHES(resumed.optimizer.set_tensor_moments(std::vector<float>{1.0f, bad}), invalid_argument,
                         MessageMatches(ContainsSubstring("set_tensor_moments")));
  owned_moments other(engine, adamw{});
  CHECK(other.optimizer.tensor_moments().empty());
  CHECK_THROWS_MATCHES(other.optimizer.set_tensor_moments(std::vector<float>{1.0f, 1.0f}), invalid_argument,
                       MessageMatches(ContainsSubstring("keeps 0")));
}
