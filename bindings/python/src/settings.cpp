// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <syclamp/error.hpp>

namespace nb = nanobind;

namespace syclamp::python {
namespace {

/// Calls `visit(name, field)` for every field. The overloads are the only list of fields in this package.
template <typename Settings, typename Visit>
void visit_fields(Settings& settings, const Visit& visit) {
  using type = std::remove_const_t<Settings>;
  visit("lr", settings.lr);
  visit("weight_decay", settings.weight_decay);
  visit("maximize", settings.maximize);
  if constexpr (requires { settings.betas; }) visit("betas", settings.betas);
  if constexpr (requires { settings.eps; }) visit("eps", settings.eps);
  if constexpr (requires { settings.momentum; }) visit("momentum", settings.momentum);
  if constexpr (requires { settings.amsgrad; }) visit("amsgrad", settings.amsgrad);
  if constexpr (requires { settings.centered; }) visit("centered", settings.centered);
  if constexpr (std::is_same_v<type, sgd>) {
    visit("dampening", settings.dampening);
    visit("nesterov", settings.nesterov);
  }
  if constexpr (std::is_same_v<type, adagrad>) {
    visit("lr_decay", settings.lr_decay);
    visit("initial_accumulator_value", settings.initial_accumulator_value);
  }
  if constexpr (std::is_same_v<type, rmsprop>) visit("alpha", settings.alpha);
  if constexpr (std::is_same_v<type, adadelta>) visit("rho", settings.rho);
}

template <typename Settings>
constexpr const char* name = nullptr;
template <>
constexpr const char* name<sgd> = "sgd";
template <>
constexpr const char* name<adam> = "adam";
template <>
constexpr const char* name<adamw> = "adamw";
template <>
constexpr const char* name<lion> = "lion";
template <>
constexpr const char* name<adagrad> = "adagrad";
template <>
constexpr const char* name<rmsprop> = "rmsprop";
template <>
constexpr const char* name<lamb> = "lamb";
template <>
constexpr const char* name<novograd> = "novograd";
template <>
constexpr const char* name<adadelta> = "adadelta";

template <typename Settings>
void set_fields(Settings& settings, const nb::dict& fields) {
  std::vector<std::string> names;
  std::size_t used = 0;
  visit_fields(settings, [&](const char* field, auto& value) {
    names.emplace_back(field);
    if (!fields.contains(field)) return;
    ++used;
    try {
      value = nb::cast<std::remove_reference_t<decltype(value)>>(fields[field]);
    } catch (const std::bad_cast&) {
      throw nb::type_error(fmt::format("{}: {} cannot be used as this setting", field,
                                       nb::cast<std::string>(nb::str(nb::repr(fields[field]))))
                               .c_str());
    }
  });
  if (used == fields.size()) return;
  for (const auto [key, value] : fields) {
    const auto text = nb::cast<std::string>(nb::str(key));
    if (std::ranges::find(names, text) == names.end())
      throw nb::type_error(fmt::format("{} has no setting \"{}\"; it has {}",
                                       optimizer_name(optimizer_settings(settings)), text, fmt::join(names, ", "))
                               .c_str());
  }
}

template <typename... Settings>
optimizer_settings defaults(std::string_view wanted, const std::variant<Settings...>*) {
  optimizer_settings found;
  const bool is_known = ((wanted == name<Settings> ? (found = Settings{}, true) : false) || ...);
  if (!is_known)
    throw invalid_argument(
        fmt::format("optimizer: \"{}\" is not one of {}", wanted, fmt::join(std::array{name<Settings>...}, ", ")));
  return found;
}

}  // namespace

optimizer_settings settings_from(std::string_view wanted, const nb::dict& fields) {
  optimizer_settings settings = defaults(wanted, static_cast<const optimizer_settings*>(nullptr));
  change_settings(settings, fields);
  return settings;
}

void change_settings(optimizer_settings& settings, const nb::dict& fields) {
  std::visit([&](auto& present) { set_fields(present, fields); }, settings);
}

nb::dict to_dict(const optimizer_settings& settings) {
  nb::dict fields;
  const auto enter = [&](const char* field, const auto& value) {
    using type = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<type, std::array<double, 2>>)
      fields[field] = nb::make_tuple(value[0], value[1]);
    else
      fields[field] = value;
  };
  std::visit([&](const auto& present) { visit_fields(present, enter); }, settings);
  return fields;
}

const char* optimizer_name(const optimizer_settings& settings) {
  return std::visit([](const auto& present) { return name<std::remove_cvref_t<decltype(present)>>; }, settings);
}

}  // namespace syclamp::python
