// SPDX-License-Identifier: Apache-2.0
// Which profile a device gets if the best one is too large for it. The devices are made up.
#include <string>
#include <string_view>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/profile_choice.hpp"
#include "engine/warn.hpp"
#include "launch/operation.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr backends::device_facts nvidia{.is_gpu = true, .vendor_id = backends::nvidia_vendor};
const profile& nvidia_gpu = *backends::find("nvidia_gpu");
const profile& generic = *backends::find("generic");

/// A device on which every profile fits.
device_limits roomy() { return {.max_group_size = 1024, .local_memory = 64 * 1024}; }

std::string problem_with(device_limits limits) { return misfit(nvidia_gpu, limits); }

}  // namespace

TEST_CASE("a profile fits if its group size and its local memory do, up to the last one") {
  device_limits limits = roomy();
  CHECK(problem_with(limits).empty());

  limits.max_group_size = max_group_size(nvidia_gpu);
  limits.local_memory = nvidia_gpu.local_memory;
  CHECK(problem_with(limits).empty());

  limits.max_group_size -= 1;
  CHECK_THAT(problem_with(limits), ContainsSubstring(std::to_string(max_group_size(nvidia_gpu)) + " work-items") &&
                                       ContainsSubstring("allows " + std::to_string(limits.max_group_size)));
  limits = roomy();
  limits.local_memory = nvidia_gpu.local_memory - 1;
  CHECK_THAT(problem_with(limits),
             ContainsSubstring(std::to_string(nvidia_gpu.local_memory) + " bytes of local memory") &&
                 ContainsSubstring("has " + std::to_string(limits.local_memory)));
}

TEST_CASE("a device gets the first profile that matches and fits, and a note says why") {
  CHECK(choose_profile(nvidia, roomy()).tuning == &nvidia_gpu);
  CHECK(choose_profile(nvidia, roomy()).note.empty());

  device_limits small = roomy();
  small.max_group_size = max_group_size(generic);
  REQUIRE(small.max_group_size < max_group_size(nvidia_gpu));
  const profile_choice choice = choose_profile(nvidia, small);
  CHECK(choice.tuning == &generic);
  CHECK_THAT(choice.note, ContainsSubstring("\"nvidia_gpu\" does not fit") && ContainsSubstring("work-items") &&
                              ContainsSubstring("\"generic\" is used instead"));

  const backends::device_facts amd{.is_gpu = true, .vendor_id = backends::amd_vendor};
  const profile& amd_gpu = *backends::find("amd_gpu");
  small = roomy();
  small.local_memory = amd_gpu.local_memory - 1;
  REQUIRE(small.local_memory >= generic.local_memory);
  CHECK(choose_profile(amd, small).tuning == &generic);
}

TEST_CASE("if no profile of its family fits, a device gets any that fits") {
  device_limits tiny = roomy();
  tiny.max_group_size = max_group_size(generic) - 1;
  const profile_choice choice = choose_profile(nvidia, tiny);
  CHECK(choice.tuning == backends::find("cpu"));  // its work-groups are the smallest
  CHECK_THAT(choice.note, ContainsSubstring("\"nvidia_gpu\"") && ContainsSubstring("\"generic\" does not fit") &&
                              ContainsSubstring("\"cpu\" is used instead"));

  tiny.max_group_size = 1;
  CHECK_THROWS_MATCHES(choose_profile(nvidia, tiny), no_device_error,
                       MessageMatches(ContainsSubstring("no tuning profile fits") && ContainsSubstring("allows 1")));
}

TEST_CASE("every device gets a profile that fits, even if it has no more than SYCL promises") {
  // SYCL 2020 promises 32 KiB of local memory. Work-groups of 256 are what all GPUs of the last ten years have.
  const device_limits promised{.max_group_size = 256, .local_memory = 32 * 1024};
  CHECK(misfit(generic, promised).empty());
  for (const profile& tuned : backends::profiles) {
    CAPTURE(tuned.name);
    CHECK(tuned.local_memory <= promised.local_memory);
  }
  struct expectation {
    backends::device_facts device;
    std::string_view profile;
  };
  const expectation devices[] = {
      {{.is_cpu = true, .vendor_id = backends::amd_vendor}, "cpu"},
      {{.is_gpu = true, .vendor_id = backends::nvidia_vendor, .min_sub_group_size = 32}, "nvidia_gpu"},
      {{.is_gpu = true, .vendor_id = backends::amd_vendor, .min_sub_group_size = 64}, "amd_gpu"},
      {{.is_gpu = true, .vendor_id = backends::amd_vendor, .min_sub_group_size = 32}, "amd_rdna"},
      // Both profiles for Intel GPUs have groups of 512.
      {{.is_gpu = true, .vendor_id = backends::intel_vendor, .min_sub_group_size = 8}, "generic"},
      {{.is_gpu = true, .vendor_id = backends::intel_vendor, .min_sub_group_size = 16}, "generic"},
      {{.is_gpu = true}, "generic"},
  };
  for (const expectation& expected : devices) {
    CAPTURE(expected.device.vendor_id, expected.device.min_sub_group_size);
    CHECK(choose_profile(expected.device, promised).tuning->name == expected.profile);
  }
}

TEST_CASE("a warning of the same words is heard once") {
  int heard = 0;
  auto previous = on_warning([&](std::string_view) { ++heard; });
  for (int i = 0; i < 3; ++i) warn_once("a line of profile_choice_tests");
  warn_once("another line of profile_choice_tests");
  on_warning(previous);
  CHECK(heard == 2);
}

TEST_CASE("the parameters of a kernel are counted with their alignment") {
  using launch::parameter_bytes;
  CHECK(parameter_bytes<>() == 0);
  CHECK(parameter_bytes<bool>() == 1);
  CHECK(parameter_bytes<bool, const float*, bool, float>() == 24);  // at 0, 8, 16 and 20
}
