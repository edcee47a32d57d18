// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "backends/profiles.hpp"
#include "engine/device_facts.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;
using backends::choose;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEST_CASE("a device gets the profile of its family") {
  CHECK(choose({.is_cpu = true, .vendor_id = backends::intel_vendor}).name == "cpu");
  CHECK(choose({.is_cpu = true, .vendor_id = backends::amd_vendor}).name == "cpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::intel_vendor}).name == "intel_gpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::intel_vendor, .min_sub_group_size = 16}).name == "intel_gpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::intel_vendor, .min_sub_group_size = 8}).name == "intel_xe_hpg");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::nvidia_vendor, .min_sub_group_size = 8}).name == "nvidia_gpu");
  CHECK(choose({.is_cpu = true, .vendor_id = backends::intel_vendor, .min_sub_group_size = 8}).name == "cpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::nvidia_vendor}).name == "nvidia_gpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::amd_vendor}).name == "amd_gpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::amd_vendor, .min_sub_group_size = 64}).name == "amd_gpu");
  CHECK(choose({.is_gpu = true, .vendor_id = backends::amd_vendor, .min_sub_group_size = 32}).name == "amd_rdna");
  CHECK(choose({.is_gpu = true, .vendor_id = 0xffff}).name == "generic");
  CHECK(choose({}).name == "generic");
}

TEST_CASE("a maker is known by id, or else by name") {
  CHECK(vendor_of(0x10de, "") == backends::nvidia_vendor);
  CHECK(vendor_of(1022, "AMD") == backends::amd_vendor);
  CHECK(vendor_of(0, "Advanced Micro Devices, Inc.") == backends::amd_vendor);
  CHECK(vendor_of(0, "Intel(R) Corporation") == backends::intel_vendor);
  CHECK(vendor_of(0x1234, "Abacus Ltd.") == 0x1234);
}

TEST_CASE("the smallest sub-group of a device is known, in whatever order the device reports its sizes") {
  CHECK(smallest(std::vector<std::size_t>{8, 16, 32}) == 8);
  CHECK(smallest(std::vector<std::size_t>{32, 16}) == 16);
  CHECK(smallest({}) == 0);
}

TEST_CASE("profiles have names of their own and sizes that kernels can use") {
  std::set<std::string_view> names;
  for (const profile& tuned : backends::profiles) {
    CAPTURE(tuned.name);
    CHECK(names.insert(tuned.name).second);
    CHECK(backends::find(tuned.name) == &tuned);
    CHECK(max_group_size(tuned) <= 1024);
    std::size_t classes = 0;
    for_each_class(tuned, [&](std::string_view class_name, const auto& tuning) {
      CAPTURE(class_name);
      ++classes;
      CHECK(tuning.group_size <= max_group_size(tuned));
      for (const tuning_number& number : numbers_of(tuning)) {
        CAPTURE(number.name, number.value);
        if (number.name == "sub_group_size" && number.value == 0) continue;  // the compiler's choice
        CHECK(number.value > 0);
        if (number.name != "groups_per_unit") CHECK(std::has_single_bit(number.value));
        if (number.name.ends_with("lanes")) CHECK(number.value >= 2);  // there are no packs of one
        if (number.name == "pack_bytes") CHECK(number.value >= 16);    // of which two FP64 are one
      }
    });
    CHECK(classes == 7);                                                   // `apply` among them
    CHECK(tuned.apply.max_lanes >= (tuned.apply.group_size > 1 ? 4 : 2));  // groups take packs in halves
    CHECK(tuned.reduction.max_lanes >= 4);                                 // BF16 is widened in halves of packs
    CHECK(tuned.reduction.adders <= tuned.reduction.group_size);
    CHECK(tuned.rows.column_packs <= tuned.rows.group_size);
    CHECK(tuned.rows.shuffle_width <= tuned.rows.group_size);
    CHECK(tuned.blocks.group_size % 8 == 0);  // some kernels divide it into eight sub-groups
  }
  CHECK(backends::find("abacus") == nullptr);
}

TEST_CASE("classes of a profile can be compared") {
  profile changed = *backends::find("generic");
  CHECK(changed.reduction == backends::find("generic")->reduction);
  changed.reduction.adders /= 2;
  CHECK(changed.reduction != backends::find("generic")->reduction);
}

TEST_CASE("the numbers of a profile can be printed") {
  const profile_report report = describe_profile("nvidia_gpu");
  CHECK(report.name == "nvidia_gpu");
  REQUIRE(report.classes.size() == 7);
  CHECK(report.classes[0].name == "reduction");
  REQUIRE(report.classes[0].numbers.size() == 10);
  CHECK(report.classes[0].numbers[1].name == "max_lanes");
  CHECK(report.classes[0].numbers[1].value == backends::find("nvidia_gpu")->reduction.max_lanes);
  CHECK_THROWS_MATCHES(describe_profile("abacus"), invalid_argument,
                       MessageMatches(ContainsSubstring("abacus") && ContainsSubstring("nvidia_gpu")));
}
