// SPDX-License-Identifier: Apache-2.0
// The settings of optimizers by name, so that tests need not list optimizers.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "syclamp/optimizer_settings.hpp"

/// Calls `visit(name, member)` for each member that the settings of an optimizer have.
template <typename Settings, typename Visit>
constexpr void for_each_known_setting(Settings& settings, const Visit& visit) {
#define SETTING(NAME) \
  if constexpr (requires { settings.NAME; }) visit(#NAME, settings.NAME)
  SETTING(lr);
  SETTING(betas);
  SETTING(alpha);
  SETTING(rho);
  SETTING(momentum);
  SETTING(dampening);
  SETTING(lr_decay);
  SETTING(weight_decay);
  SETTING(initial_accumulator_value);
  SETTING(eps);
  SETTING(nesterov);
  SETTING(amsgrad);
  SETTING(centered);
  SETTING(maximize);
#undef SETTING
}

template <typename Settings>
constexpr std::size_t bytes_of_known_settings() {
  Settings settings;
  std::size_t bytes = 0;
  for_each_known_setting(settings, [&](const char*, const auto& member) { bytes += sizeof member; });
  return (bytes + alignof(Settings) - 1) / alignof(Settings) * alignof(Settings);
}

/// The same, and refuses to compile if a member has no line above.
template <typename Settings, typename Visit>
constexpr void for_each_setting(Settings& settings, const Visit& visit) {
  static_assert(bytes_of_known_settings<Settings>() == sizeof(Settings), "add the setting to for_each_known_setting");
  for_each_known_setting(settings, visit);
}

/// Calls `visit(name, member)` for each setting that must be below 1.
template <typename Settings, typename Visit>
void for_each_rate(Settings& settings, const Visit& visit) {
  if constexpr (requires { settings.betas; })
    for (std::size_t i = 0; i < settings.betas.size(); ++i)
      visit("betas[" + std::to_string(i) + "]", settings.betas[i]);
  if constexpr (requires { settings.alpha; }) visit(std::string("alpha"), settings.alpha);
  if constexpr (requires { settings.rho; }) visit(std::string("rho"), settings.rho);
}

/// Each optimizer with its default settings.
inline std::vector<syclamp::optimizer_settings> default_settings() {
  return []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::vector<syclamp::optimizer_settings>{
        std::variant_alternative_t<Index, syclamp::optimizer_settings>{}...};
  }(std::make_index_sequence<std::variant_size_v<syclamp::optimizer_settings>>{});
}
