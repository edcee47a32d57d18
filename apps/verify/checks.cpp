// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"

namespace syclamp::verify {
namespace {

void append(std::vector<check>& all, std::vector<check> more) { std::ranges::move(more, std::back_inserter(all)); }

}  // namespace

std::vector<check> arithmetic_checks(const engine& engine) {
  return {{"arithmetic self-test",
           "Update the driver of the device. If you built the library yourself, build it without options such as "
           "-ffast-math.",
           [engine] {
             const arithmetic_report report = test_arithmetic(engine);
             std::string detail = fmt::format("{} properties", report.checks.size());
             for (const arithmetic_check& property : report.checks)
               if (!property.relied_upon && !property.passed)
                 detail += fmt::format("; {}: no (not needed)", property.name);
             return passed_unless(compare_arithmetic(report), detail);
           }}};
}

std::vector<check> profile_checks(const engine& engine, const settings& settings) {
  std::vector<check> all;
  for (const auto subject : {gradient_checks, inspection_checks, optimizer_checks, scaler_checks, decision_checks,
                             stop_checks, matrix_checks, layer_checks})
    append(all, subject(engine, settings));
  for (check& check : all) check.name += fmt::format(", profile {}", engine.profile_name());
  return all;
}

namespace {

check skipped_profile(const std::string& name, const std::string& reason) {
  return {fmt::format("profile {}", name), "", [reason] { return check_result{check_outcome::skipped, reason}; }};
}

/// The checks of a profile that is not the device's own. One that is too large for the device is skipped.
void append_checks_of_other_profile(std::vector<check>& all, const engine& engine, const std::string& name) {
  try {
    append(all, profile_checks(syclamp::engine(engine.queue(), name), {.quick = true, .is_profile_forced = true}));
  } catch (const invalid_argument& misfit) {
    all.push_back(skipped_profile(name, misfit.what()));
  }
}

}  // namespace

std::vector<check> all_checks(const engine& engine, const settings& settings) {
  std::vector<check> all = arithmetic_checks(engine);
  append(all, profile_checks(engine, settings));
  for (const std::string& name : profile_names()) {
    if (name == engine.profile_name()) continue;
    if (settings.quick) {
      all.push_back(skipped_profile(name, "left out by --quick"));
    } else {
      append_checks_of_other_profile(all, engine, name);
    }
  }
  return all;
}

}  // namespace syclamp::verify
