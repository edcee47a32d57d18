// SPDX-License-Identifier: Apache-2.0
/// \file
/// The names of enumeration values of a policy, as files and programs use them.
#pragma once

#include <syclamp/export.hpp>
#include <syclamp/scaling_policy.hpp>

namespace SYCLAMP_NAMESPACE {

/// The name of a value in files and programs; an empty string for an invalid value.
constexpr const char* to_string(scaling_mode mode) {
  switch (mode) {
    case scaling_mode::dynamic: return "dynamic";
    case scaling_mode::fixed: return "fixed";
    case scaling_mode::disabled: return "disabled";
  }
  return "";
}

/// The name of a value in files and programs; an empty string for an invalid value.
constexpr const char* to_string(growth_kind kind) {
  switch (kind) {
    case growth_kind::interval: return "interval";
    case growth_kind::every_step: return "every_step";
    case growth_kind::headroom: return "headroom";
    case growth_kind::log_max: return "log_max";
  }
  return "";
}

/// The name of a value in files and programs; an empty string for an invalid value.
constexpr const char* to_string(interval_test test) {
  switch (test) {
    case interval_test::at_least: return "at_least";
    case interval_test::equal: return "equal";
    case interval_test::wrapping: return "wrapping";
    case interval_test::multiple: return "multiple";
    case interval_test::one_later: return "one_later";
  }
  return "";
}

/// The name of a value in files and programs; an empty string for an invalid value.
constexpr const char* to_string(hysteresis_kind kind) {
  switch (kind) {
    case hysteresis_kind::consecutive: return "consecutive";
    case hysteresis_kind::consecutive_anew: return "consecutive_anew";
    case hysteresis_kind::per_growth_window: return "per_growth_window";
    case hysteresis_kind::accumulated: return "accumulated";
  }
  return "";
}

/// The name of a value in files and programs; an empty string for an invalid value.
constexpr const char* to_string(bounds_kind kind) {
  switch (kind) {
    case bounds_kind::clamp: return "clamp";
    case bounds_kind::clamp_moves: return "clamp_moves";
    case bounds_kind::keep: return "keep";
    case bounds_kind::refuse: return "refuse";
  }
  return "";
}

/// The name of a value in files and programs; an empty string for an invalid value.
constexpr const char* to_string(scale_arithmetic arithmetic) {
  switch (arithmetic) {
    case scale_arithmetic::float32: return "float32";
    case scale_arithmetic::float32_scaled: return "float32_scaled";
    case scale_arithmetic::float64: return "float64";
  }
  return "";
}

/// The name of a value in files and programs; an empty string for an invalid value.
constexpr const char* to_string(give_up_action action) {
  switch (action) {
    case give_up_action::keep: return "keep";
    case give_up_action::hold: return "hold";
    case give_up_action::stop: return "stop";
  }
  return "";
}

}  // namespace SYCLAMP_NAMESPACE
