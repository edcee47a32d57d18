// SPDX-License-Identifier: Apache-2.0
#include "policy.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <syclamp/error.hpp>
#include <syclamp/policy_names.hpp>
#include <syclamp/presets.hpp>

#include "module.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

/// The value of an enumeration by its name. Enumerations of policies begin at 0 and have no gaps.
template <typename Enum>
Enum policy_value(const std::string& name, const char* field) {
  std::vector<std::string> names;
  for (std::uint32_t index = 0; *to_string(static_cast<Enum>(index)) != '\0'; ++index) {
    if (name == to_string(static_cast<Enum>(index))) return static_cast<Enum>(index);
    names.emplace_back(to_string(static_cast<Enum>(index)));
  }
  throw invalid_argument(fmt::format("{}: \"{}\" is not one of {}", field, name, fmt::join(names, ", ")));
}

template <typename Class, typename Enum, typename Owner>
void bind_name(Class& type, const char* field, Enum Owner::* member) {
  type.def_prop_rw(
      field, [member](const Owner& owner) { return std::string(to_string(owner.*member)); },
      [member, field](Owner& owner, const std::string& name) { owner.*member = policy_value<Enum>(name, field); });
}

/// Sets an attribute, with a message that names it if the value has the wrong type.
void set_field(nb::handle object, nb::handle name, nb::handle value, const char* owner) {
  try {
    nb::setattr(object, name, value);
  } catch (const nb::python_error& problem) {
    if (!problem.matches(PyExc_TypeError)) throw;
    throw nb::type_error(fmt::format("{}: {} cannot be used as the field {}", owner,
                                     nb::cast<std::string>(nb::repr(value)), nb::cast<std::string>(nb::str(name)))
                             .c_str());
  }
}

/// The fields of a policy or of its options, found as attributes.
template <typename Owner>
nb::typed<nb::dict, nb::str, nb::any> fields_of(const Owner& owner) {
  const nb::object object = nb::cast(owner);
  nb::dict fields;
  for (const nb::handle name : nb::steal<nb::list>(PyObject_Dir(object.ptr()))) {
    const nb::object value = object.attr(name);
    if (!nb::cast<std::string>(name).starts_with("_") && !nb::isinstance<nb::callable>(value)) fields[name] = value;
  }
  return nb::typed<nb::dict, nb::str, nb::any>(fields);
}

/// For pickles and copies. A field that is missing, because another version has saved the pickle, keeps its default.
template <typename Owner>
void bind_state(nb::class_<Owner>& type, const char* name) {
  type.def("__getstate__", &fields_of<Owner>);
  type.def("__setstate__", [name](Owner& owner, const nb::typed<nb::dict, nb::str, nb::any>& fields) {
    const nb::object object = nb::cast(Owner{});
    for (const auto [field, value] : nb::dict(fields)) set_field(object, field, value, name);
    new (&owner) Owner(nb::cast<const Owner&>(object));
  });
}

/// Sets attributes by keyword, so that every field is an argument without a second list of fields.
void set_fields(const nb::object& self, const nb::kwargs& fields) {
  for (const auto [name, value] : fields) {
    const auto text = nb::cast<std::string>(name);
    if (!nb::hasattr(self, name) || text.starts_with("_"))
      throw nb::type_error(fmt::format("Policy has no field \"{}\"; help(syclamp.Policy) lists them", text).c_str());
    set_field(self, name, value, "Policy");
  }
  nb::cast<const scaling_policy&>(self).validate();
}

constexpr const char* replay_doc =
    "What only presets of other frameworks need: rules that differ from those of the library.\n\n"
    ">>> import syclamp\n"
    ">>> syclamp.Policy(\"megatron\").replay.one_step_late\n"
    "False\n";

void bind_replay_options(nb::module_& module) {
  nb::class_<replay_options> type(module, "ReplayOptions", replay_doc);
  bind_name(type, "growth_test", &replay_options::growth_test);
  bind_name(type, "bounds", &replay_options::bounds);
  bind_name(type, "arithmetic", &replay_options::arithmetic);
  type.def_rw("backoff_by_growth", &replay_options::backoff_by_growth)
      .def_rw("one_step_late", &replay_options::one_step_late);
  bind_state(type, "ReplayOptions");
}

void bind_numbers(nb::class_<scaling_policy>& type) {
  type.def_rw("init_scale", &scaling_policy::init_scale)
      .def_rw("growth_factor", &scaling_policy::growth_factor)
      .def_rw("backoff_factor", &scaling_policy::backoff_factor)
      .def_rw("growth_interval", &scaling_policy::growth_interval)
      .def_rw("min", &scaling_policy::min)
      .def_rw("max", &scaling_policy::max)
      .def_rw("power_of_two", &scaling_policy::power_of_two)
      .def_rw("hysteresis", &scaling_policy::hysteresis)
      .def_rw("tolerance", &scaling_policy::tolerance)
      .def_rw("amax_limit", &scaling_policy::amax_limit)
      .def_rw("margin", &scaling_policy::margin)
      .def_rw("max_jump", &scaling_policy::max_jump)
      .def_rw("nan_patience", &scaling_policy::nan_patience)
      .def_rw("give_up_after", &scaling_policy::give_up_after)
      .def_rw("spike_threshold", &scaling_policy::spike_threshold)
      .def_rw("spike_window", &scaling_policy::spike_window)
      .def_rw("retries", &scaling_policy::retries)
      .def_rw("clear_on_skip", &scaling_policy::clear_on_skip)
      .def_rw("replay", &scaling_policy::replay);
}

constexpr const char* policy_doc =
    "How a loss scale moves. Fields have the names and defaults of the C++ library.\n\n"
    "Policy(preset, field=value, …) begins with a preset and changes fields:\n\n"
    ">>> import syclamp\n"
    ">>> syclamp.Policy(\"pytorch\", growth_interval=100).growth_interval\n"
    "100\n";

}  // namespace

scaling_policy policy_from(nb::handle argument) {
  if (argument.is_none()) return {};
  if (nb::isinstance<nb::str>(argument)) return scaling_preset(nb::cast<std::string>(argument));
  if (nb::isinstance<scaling_policy>(argument)) return nb::cast<scaling_policy>(argument);
  throw nb::type_error("policy: a syclamp.Policy or the name of a preset is needed");
}

void register_policy(nb::module_& module) {
  bind_replay_options(module);
  nb::class_<scaling_policy> type(module, "Policy", policy_doc);
  type.def(
      "__init__",
      [](const nb::handle_t<scaling_policy>& self, const std::string& preset, const nb::kwargs& fields) {
        new (nb::inst_ptr<scaling_policy>(self)) scaling_policy(scaling_preset(preset));
        nb::inst_mark_ready(self);
        set_fields(nb::borrow(self), fields);
      },
      nb::arg("preset") = "syclamp", nb::arg("fields"),
      nb::sig("def __init__(self, preset: str = 'syclamp', **fields: float | str | ReplayOptions) -> None"));
  bind_name(type, "mode", &scaling_policy::mode);
  bind_name(type, "growth_mode", &scaling_policy::growth_mode);
  bind_name(type, "hysteresis_mode", &scaling_policy::hysteresis_mode);
  bind_name(type, "on_give_up", &scaling_policy::on_give_up);
  bind_name(type, "on_floor", &scaling_policy::on_floor);
  bind_numbers(type);
  bind_state(type, "Policy");
  type.def("validate", &scaling_policy::validate,
           "Checks every field. Raises InvalidArgumentError that names the field.");
  module.def(
      "presets",
      [] {
        std::vector<std::tuple<std::string, std::string, std::string>> all;
        for (const preset_info& preset : scaling_presets())
          all.emplace_back(preset.name, preset.framework, preset.note);
        return all;
      },
      "Name, framework and note of every preset.");
}

}  // namespace syclamp::python
