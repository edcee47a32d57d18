// SPDX-License-Identifier: Apache-2.0
// What the library says of devices that lack something. The devices are made up.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "launch/dpcpp_runtime.hpp"

using Catch::Matchers::ContainsSubstring;
using syclamp::launch::missing_feature;

TEST_CASE("a device without a feature that kernels need is refused with the feature's name and a remedy") {
  CHECK(missing_feature({}).empty());
  CHECK_THAT(missing_feature({.has_fp16 = false}),
             ContainsSubstring("does not support FP16") && ContainsSubstring("use another device"));
  CHECK_THAT(missing_feature({.has_device_memory = false}),
             ContainsSubstring("usm_device_allocations") && ContainsSubstring("use another device"));
  CHECK_THAT(missing_feature({.has_host_memory = false}),
             ContainsSubstring("usm_host_allocations") && ContainsSubstring("use another device"));
}
