// SPDX-License-Identifier: Apache-2.0
// Every device that can be used, with every profile forced on it, or with the one that SYCLAMP_PROFILE names.
#pragma once

#include <cstdlib>
#include <string_view>
#include <vector>

#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include "launch/kernel_library.hpp"
#include "syclamp/syclamp.hpp"

inline bool is_tested(std::string_view profile) {
  const char* only = std::getenv("SYCLAMP_PROFILE");
  return only == nullptr || *only == '\0' || profile == only;
}

inline std::vector<syclamp::engine> make_engines() {
  std::vector<syclamp::engine> engines;
  for (const auto& device : sycl::device::get_devices())
    if (syclamp::launch::obstacle(device).empty())
      for (const auto& profile : syclamp::profile_names())
        if (is_tested(profile)) engines.emplace_back(sycl::queue{device, sycl::property::queue::in_order{}}, profile);
  return engines;
}

/// One for each device and profile, made once in a process. Never empty: a test that runs nothing is no test.
inline const std::vector<syclamp::engine>& all_engines() {
  static const std::vector<syclamp::engine> engines = make_engines();
  if (engines.empty()) throw std::runtime_error("there is no device to test on");
  return engines;
}

/// For a test case that is to run on each of them.
inline const syclamp::engine& any_engine() {
  const auto index = GENERATE(Catch::Generators::range(std::size_t{0}, all_engines().size()));
  return all_engines()[index];
}
