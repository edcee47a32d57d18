// SPDX-License-Identifier: Apache-2.0
// Converts names to enumeration values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "syclamp/export.hpp"
#include "syclamp/hyper_parameters.hpp"
#include "syclamp/policy_names.hpp"
#include "syclamp/step_record.hpp"

namespace SYCLAMP_NAMESPACE {

constexpr const char* to_string(lr_schedule::shape kind) {
  switch (kind) {
    case lr_schedule::shape::constant: return "constant";
    case lr_schedule::shape::cosine: return "cosine";
    case lr_schedule::shape::decay: return "decay";
  }
  return "";
}

/// Calls `see(value)` for each value of an enumeration that counts from 0. The end is the first value whose name is
/// that of an invalid value.
template <typename Enum, typename See>
void for_each_value(See see) {
  const std::string_view impossible = to_string(static_cast<Enum>(~std::uint32_t{0}));
  for (std::uint32_t i = 0; i < 256 && to_string(static_cast<Enum>(i)) != impossible; ++i) see(static_cast<Enum>(i));
}

/// Names that files of older versions have for a value, beside the present one: pairs of a name and a value. To rename
/// a value, change `to_string` and put the old name here.
template <typename Enum>
inline constexpr std::array<std::pair<std::string_view, Enum>, 0> former_names{};
template <>
inline constexpr std::array former_names<step_outcome>{
    std::pair(std::string_view("held"), step_outcome::skipped_scale_held),
    std::pair(std::string_view("by_user"), step_outcome::skipped_by_user),
    std::pair(std::string_view("with_others"), step_outcome::skipped_jointly),
    std::pair(std::string_view("nothing"), step_outcome::no_gradients)};

template <typename Enum>
std::optional<Enum> value_named(std::string_view name) {
  std::optional<Enum> found;
  for (const auto& [former, value] : former_names<Enum>)
    if (name == former) found = value;
  for_each_value<Enum>([&](Enum value) {
    if (name == to_string(value)) found = value;
  });
  return found;
}

/// All names, for messages.
template <typename Enum>
std::string names_of() {
  std::string names;
  for_each_value<Enum>([&](Enum value) { names += (names.empty() ? "" : ", ") + std::string(to_string(value)); });
  return names;
}

}  // namespace SYCLAMP_NAMESPACE
