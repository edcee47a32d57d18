// SPDX-License-Identifier: Apache-2.0
// The comparisons of `syclamp verify` accept right results and notice wrong ones, each with a wrong number planted.
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/device_files.hpp"

using namespace syclamp;
using namespace syclamp::verify;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::uint64_t elements = 10;

/// Nine finite elements of which two are zero, and one NaN.
reference::statistics statistics_with_nan() {
  reference::statistics expected;
  expected.nan_count = 1;
  expected.zero_count = 2;
  expected.first_nonfinite = 4;
  return expected;
}

inspection inspection_with_nan() {
  inspection result;
  result.elements = elements;
  result.nan_count = 1;
  result.zero_count = 2;
  result.first_nonfinite_tensor = 0;
  result.first_nonfinite = 4;
  result.flags = found_nan;
  result.amax = std::numeric_limits<float>::quiet_NaN();
  return result;
}

/// All finite: the norm is 3.
reference::statistics finite_statistics() {
  reference::statistics expected;
  expected.amax = 2;
  expected.sum_of_squares = 9;
  return expected;
}

inspection finite_inspection() {
  inspection result;
  result.elements = elements;
  result.amax = 2.0f;
  result.amax_bits = std::bit_cast<std::uint64_t>(2.0);
  result.sum_of_squares = 9.0f;
  return result;
}

arithmetic_report arithmetic(bool relied_upon) {
  return {{{"exact_fma", true, true}, {"half_subnormals", false, relied_upon}}};
}

}  // namespace

TEST_CASE("verify: a self-test counts only if the library relies upon it") {
  CHECK(compare_arithmetic(arithmetic(false)).empty());
  CHECK_THAT(compare_arithmetic(arithmetic(true)), ContainsSubstring("half_subnormals"));
  CHECK_FALSE(compare_arithmetic({}).empty());
}

TEST_CASE("verify: every field of an inspection is compared") {
  CHECK(compare_inspection(inspection_with_nan(), statistics_with_nan(), elements).empty());
  CHECK(compare_inspection(finite_inspection(), finite_statistics(), elements).empty());

  struct fault {
    const char* name;
    void (*plant)(inspection& result);
  };
  for (const fault& fault : {fault{"elements", [](auto& result) { ++result.elements; }},
                             {"inf_count", [](auto& result) { ++result.inf_count; }},
                             {"nan_count", [](auto& result) { --result.nan_count; }},
                             {"zero_count", [](auto& result) { ++result.zero_count; }},
                             {"subnormal_count", [](auto& result) { ++result.subnormal_count; }},
                             {"flags", [](auto& result) { result.flags = found_inf; }},
                             {"first_nonfinite", [](auto& result) { ++result.first_nonfinite; }},
                             {"first_nonfinite_tensor", [](auto& result) { ++result.first_nonfinite_tensor; }},
                             {"amax", [](auto& result) { result.amax = 1.0f; }}}) {
    inspection wrong = inspection_with_nan();
    fault.plant(wrong);
    CHECK_THAT(compare_inspection(wrong, statistics_with_nan(), elements), ContainsSubstring(fault.name));
  }
  inspection wrong = finite_inspection();
  wrong.amax = std::nextafter(2.0f, 3.0f);
  CHECK_THAT(compare_inspection(wrong, finite_statistics(), elements), ContainsSubstring("amax"));
  wrong = finite_inspection();
  wrong.sum_of_squares = 9.001f;
  CHECK_THAT(compare_inspection(wrong, finite_statistics(), elements), ContainsSubstring("norm"));
  auto with_inf = finite_statistics();
  with_inf.inf_count = 1;
  wrong = finite_inspection();
  wrong.inf_count = 1;
  wrong.flags = found_inf;
  wrong.first_nonfinite_tensor = 0;
  CHECK_THAT(compare_inspection(wrong, with_inf, elements), ContainsSubstring("amax"));
}

TEST_CASE("verify: sums of absolute values and records of steps are compared") {
  auto expected = finite_statistics();
  expected.abs_sum = 5;
  inspection result = finite_inspection();
  result.abs_sum = 5.0f;
  CHECK(compare_details(result, expected, elements).empty());
  result.abs_sum = 5.001f;
  CHECK_THAT(compare_details(result, expected, elements), ContainsSubstring("absolute"));
  result.abs_sum = 5.0f;
  result.amax = 1.0f;
  CHECK_THAT(compare_details(result, expected, elements), ContainsSubstring("amax"));
  result = finite_inspection();
  ++result.amax_bits;
  CHECK_THAT(compare_details(result, expected, elements), ContainsSubstring("amax_bits"));

  step_record record;
  record.elements = elements;
  record.outcome = step_outcome::applied;
  record.scale = 4.0f;
  record.norm = 0.75f;  // 3 / 4
  CHECK(compare_record(record, expected, elements).empty());
  struct fault {
    const char* name;
    void (*plant)(step_record& record);
  };
  for (const fault& fault : {fault{"elements", [](auto& wrong) { ++wrong.elements; }},
                             {"inf_count", [](auto& wrong) { ++wrong.inf_count; }},
                             {"nan_count", [](auto& wrong) { ++wrong.nan_count; }},
                             {"zero_count", [](auto& wrong) { ++wrong.zero_count; }},
                             {"subnormal_count", [](auto& wrong) { ++wrong.subnormal_count; }},
                             {"first_nonfinite", [](auto& wrong) { wrong.first_nonfinite = 0; }},
                             {"first_nonfinite_tensor", [](auto& wrong) { wrong.first_nonfinite_tensor = 0; }},
                             {"outcome", [](auto& wrong) { wrong.outcome = step_outcome::skipped_inf; }},
                             {"norm", [](auto& wrong) { wrong.norm = 0.7501f; }}}) {
    step_record wrong = record;
    fault.plant(wrong);
    CHECK_THAT(compare_record(wrong, expected, elements), ContainsSubstring(fault.name));
  }
}

TEST_CASE("verify: one wrong bit is noticed, and NaNs may have any payload") {
  using bits = std::vector<std::uint64_t>;
  CHECK(compare_bits(bits{0x3c00, 0x7e00}, bits{0x3c00, 0x7c01}, reference::binary16).empty());
  const std::string wrong =
      compare_bits(bits{0x3c00, 0x3c01, 0x3c00}, bits{0x3c00, 0x3c00, 0x3c00}, reference::binary16);
  CHECK_THAT(wrong, ContainsSubstring("1 of 3") && ContainsSubstring("element 1") && ContainsSubstring("0x3c01"));
  CHECK_FALSE(compare_bits(bits{0x8000}, bits{0}, reference::binary16).empty());       // -0 and 0
  CHECK_FALSE(compare_bits(bits{0x7c00}, bits{0x7e00}, reference::binary16).empty());  // Inf and NaN
  CHECK_FALSE(compare_bits(bits{}, bits{0}, reference::binary16).empty());
}

TEST_CASE("verify: values outside their error bound are noticed, a NaN among them") {
  using values = std::vector<double>;
  const std::vector<bounded> expected{{1.0, 0.1}, {2.0, 0.0}};
  CHECK(compare_values(values{1.05, 2.0}, expected).empty());
  CHECK_THAT(compare_values(values{1.2, 2.0}, expected), ContainsSubstring("element 0"));
  CHECK_THAT(compare_values(values{1.0, 2.1}, expected), ContainsSubstring("element 1"));
  CHECK_FALSE(compare_values(values{std::nan(""), 2.0}, expected).empty());
  CHECK_FALSE(compare_values(values{1.0}, expected).empty());
}

TEST_CASE("verify: norm and clip coefficient are compared") {
  CHECK(compare_clip({.norm = 4.0f, .coefficient = 0.5f}, 4.0, 2.0 + 5e-7).empty());
  CHECK(compare_clip({.norm = 4.0f, .coefficient = 1.0f}, 4.0, 8.0).empty());
  CHECK_THAT(compare_clip({.norm = 4.001f, .coefficient = 0.5f}, 4.0, 2.0), ContainsSubstring("norm"));
  CHECK_THAT(compare_clip({.norm = 4.0f, .coefficient = 1.0f}, 4.0, 2.0), ContainsSubstring("coefficient"));
}

TEST_CASE("verify: traces are equal in scales, outcomes and statuses, or the step is named") {
  const std::vector<simulated_result> host(3, {8.0f, 4.0f, step_outcome::skipped_inf, step_status::ok});
  CHECK(compare_traces(host, host).empty());
  for (const auto plant : {+[](simulated_result& step) { step.scale_before = 16.0f; },
                           +[](simulated_result& step) { step.scale_after = std::nextafter(4.0f, 5.0f); },
                           +[](simulated_result& step) { step.outcome = step_outcome::skipped_nan; },
                           +[](simulated_result& step) { step.status = step_status::at_floor; }}) {
    auto device = host;
    plant(device[1]);
    CHECK_THAT(compare_traces(device, host), ContainsSubstring("step 2"));
  }
  CHECK_FALSE(compare_traces(std::vector(2, host[0]), host).empty());
}

TEST_CASE("verify: records of replayed steps are compared in every bit") {
  step_record direct, replayed;
  direct.step = replayed.step = 7;
  CHECK(compare_records(replayed, direct).empty());
  replayed.norm = std::nextafter(direct.norm, 1.0f);
  CHECK_THAT(compare_records(replayed, direct), ContainsSubstring("step 7"));
}

TEST_CASE("verify: a check that throws has failed, and says why") {
  const check_result result = run({"name", "remedy", []() -> check_result { throw std::runtime_error("no memory"); }});
  CHECK(result.outcome == check_outcome::failed);
  CHECK(result.detail == "no memory");
  CHECK(passed_unless("", "3 sizes").outcome == check_outcome::passed);
  CHECK(passed_unless("element 1", "3 sizes").outcome == check_outcome::failed);
  CHECK(passed_unless("element 1", "3 sizes").detail == "element 1");
}

TEST_CASE("verify: device files of GPUs that SYCL does not show come with what to install") {
  CHECK(advise_on_device_files({}).empty());
  const auto nvidia = advise_on_device_files({"/dev/nvidia0", "/dev/dri/renderD128"});
  REQUIRE(nvidia.size() == 1);
  CHECK_THAT(nvidia[0], ContainsSubstring("/dev/nvidia0") && ContainsSubstring("CUDA"));
  const auto amd = advise_on_device_files({"/dev/kfd", "/dev/dri/renderD128"});
  REQUIRE(amd.size() == 1);
  CHECK_THAT(amd[0], ContainsSubstring("/dev/kfd") && ContainsSubstring("HIP"));
  const auto intel = advise_on_device_files({"/dev/dri/renderD129"});
  REQUIRE(intel.size() == 1);
  CHECK_THAT(intel[0], ContainsSubstring("/dev/dri/renderD129") && ContainsSubstring("Level Zero"));
}
