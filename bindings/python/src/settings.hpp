// SPDX-License-Identifier: Apache-2.0
// Settings of optimizers as Python dictionaries.
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>

#include <syclamp/optimizer_settings.hpp>

namespace syclamp::python {

/// The settings of an optimizer, from its name in lower case and a dictionary of fields. Fields that are missing have
/// the library's defaults.
/// \throws nb::type_error that lists the fields, if one is unknown; invalid_argument if the optimizer is
optimizer_settings settings_from(std::string_view name, const nanobind::dict& fields);

/// Changes fields of existing settings.
void change_settings(optimizer_settings& settings, const nanobind::dict& fields);

/// The fields of settings. `betas` is a tuple.
nanobind::dict to_dict(const optimizer_settings& settings);

/// The name of an optimizer in lower case, for example "adamw".
const char* optimizer_name(const optimizer_settings& settings);

}  // namespace syclamp::python
