// SPDX-License-Identifier: Apache-2.0
// The checks of `syclamp verify`.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "syclamp/syclamp.hpp"

namespace syclamp::verify {

enum class check_outcome {
  passed,
  failed,
  skipped,  ///< the device, the build or an option leaves nothing to check; the detail says which
};

/// `passed`, `failed`, `skipped`
constexpr const char* to_string(check_outcome outcome) {
  switch (outcome) {
    case check_outcome::passed: return "passed";
    case check_outcome::failed: return "failed";
    case check_outcome::skipped: return "skipped";
  }
  return "unknown";
}

struct check_result {
  check_outcome outcome = check_outcome::failed;
  std::string detail;
};

/// \param difference  between a result and its oracle; empty if there is none
/// \param detail      what was checked
inline check_result passed_unless(std::string difference, std::string detail) {
  if (difference.empty()) return {check_outcome::passed, std::move(detail)};
  return {check_outcome::failed, std::move(difference)};
}

struct check {
  std::string name;
  std::string remedy;  ///< what a user can do if the check fails
  std::function<check_result()> run;
};

/// Runs a check. An exception counts as a failure.
inline check_result run(const check& check) {
  try {
    return check.run();
  } catch (const std::exception& failed) {
    return {check_outcome::failed, failed.what()};
  }
}

struct settings {
  bool quick = false;              ///< fewer sizes and optimizers, and only the profile of the device
  bool is_profile_forced = false;  ///< another profile than that of the device; leaves out what does not depend on it
};

// Each returns the checks of one subject, on the device of the engine.
std::vector<check> arithmetic_checks(const engine& engine);
std::vector<check> gradient_checks(const engine& engine, const settings& settings);
std::vector<check> inspection_checks(const engine& engine, const settings& settings);
std::vector<check> optimizer_checks(const engine& engine, const settings& settings);
std::vector<check> scaler_checks(const engine& engine, const settings& settings);
std::vector<check> decision_checks(const engine& engine, const settings& settings);
std::vector<check> stop_checks(const engine& engine, const settings& settings);
std::vector<check> matrix_checks(const engine& engine, const settings& settings);
std::vector<check> layer_checks(const engine& engine, const settings& settings);

/// All checks whose results depend on the profile of the engine.
std::vector<check> profile_checks(const engine& engine, const settings& settings);

/// All of them in the order in which they run: with the profile of the engine first, then with every other profile.
std::vector<check> all_checks(const engine& engine, const settings& settings);

}  // namespace syclamp::verify
