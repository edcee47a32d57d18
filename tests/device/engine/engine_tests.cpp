// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/device_memory.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

// A case for each profile: together they would take ten minutes.
TEMPLATE_TEST_CASE_SIG("every kernel that the library can ask for compiles for profile", "",
                       ((std::size_t Profile), Profile), 0, 1, 2, 3, 4, 5, 6, 7) {
  REQUIRE(profile_names().size() <= 8);
  if (Profile >= profile_names().size()) SKIP("there are fewer profiles");
  for (const engine& engine : all_engines())
    if (engine.profile_name() == profile_names()[Profile]) CHECK_NOTHROW(engine.compile_all());
}

TEST_CASE("an unknown profile is refused with the known ones") {
  const sycl::queue queue{sycl::property::queue::in_order{}};

  CHECK_THROWS_MATCHES(engine(queue, "abacus"), invalid_argument,
                       MessageMatches(ContainsSubstring("abacus") && ContainsSubstring("nvidia_gpu")));
}

TEST_CASE("a profile is forced by the caller, or else by the environment") {
  const sycl::queue queue{sycl::property::queue::in_order{}};
  setenv("SYCLAMP_PROFILE", "generic", 1);

  CHECK(engine(queue).profile_name() == "generic");
  CHECK(engine(queue, "amd_gpu").profile_name() == "amd_gpu");
  setenv("SYCLAMP_PROFILE", "abacus", 1);
  CHECK_THROWS_MATCHES(engine(queue), invalid_argument, MessageMatches(ContainsSubstring("SYCLAMP_PROFILE")));
  unsetenv("SYCLAMP_PROFILE");
}

TEST_CASE("copies of an engine share its queue and its kernels") {
  const engine first;
  const engine two = first;

  CHECK(&first.queue() == &two.queue());
  CHECK(&first.kernels() == &two.kernels());
}

TEST_CASE("several threads, each with its own engine or all with one, get the right results") {
  const engine common;
  std::vector<float> sums(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < sums.size(); ++i)
    threads.emplace_back([&, i] {
      const engine engine = i % 2 == 0 ? common : syclamp::engine{};
      const device_buffer<float> memory(engine.queue(), std::vector<float>(1000 * (i + 1), 1.0f));
      sums[i] = inspect(engine, {memory.data(), 1000 * (i + 1)}).sum_of_squares;
    });
  for (auto& thread : threads) thread.join();

  for (std::size_t i = 0; i < sums.size(); ++i) CHECK(sums[i] == 1000.0f * static_cast<float>(i + 1));
}

TEST_CASE("fresh memory is full of NaNs in all device tests") {
  const engine& engine = all_engines().front();
  constexpr std::size_t count = 1000;
  const auto device = allocate_on_device<float>(engine.queue(), count),
             host = allocate_on_host<float>(engine.queue(), count);
  std::vector<float> values(2 * count);
  engine.queue().memcpy(values.data(), device.get(), count * sizeof(float));
  engine.queue().memcpy(values.data() + count, host.get(), count * sizeof(float)).wait();

  CHECK(std::all_of(values.begin(), values.end(), [](float x) { return std::isnan(x); }));
}
