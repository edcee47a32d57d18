// SPDX-License-Identifier: Apache-2.0
#include "optimizer.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <syclamp/error.hpp>

#include "arrays.hpp"
#include "module.hpp"
#include "names.hpp"
#include "settings.hpp"
#include "tensors.hpp"

namespace nb = nanobind;

namespace syclamp::python {

void optimizer_handle::check_gradients(std::optional<element_type> written) const {
  const tensor_list& list = native.gradients();
  for (const std::size_t index : read_only)
    if (!written || list[index].type() == *written)
      throw invalid_argument(fmt::format(
          "gradients[{}]: the array is read-only, but the operation writes it; pass a writable array", index));
}

std::vector<std::shared_ptr<void>> optimizer_handle::memory() const {
  std::vector<std::shared_ptr<void>> all = owners;
  all.insert(all.end(), gradients.begin(), gradients.end());
  return all;
}

namespace {

using settings_dict = nb::typed<nb::dict, nb::str, nb::any>;

/// Weights, gradient, master weights or None, name, group.
using parameter_tuple = std::tuple<nb::object, nb::object, nb::object, std::string, std::uint32_t>;

/// Imports the arrays of parameters and keeps their owners.
struct imported_parameters {
  std::vector<parameter> parameters;
  std::vector<std::shared_ptr<void>> owners, gradients;
  std::vector<std::size_t> read_only;  // indices of gradients
  bool has_host_memory = false;

  array_view take(const engine_handle& engine, const nb::object& object, const std::string& argument, bool is_written,
                  std::vector<std::shared_ptr<void>>& keepers) {
    if (object.is_none()) return {};
    imported_array array = import_array(object, argument);
    check_memory(engine, array, argument);
    if (is_written) check_writable(array, argument);
    if (!is_written && array.is_read_only) read_only.push_back(parameters.size());
    has_host_memory |= array.is_host && is_written;
    keepers.push_back(std::move(array.owner));
    return array.view();
  }
};

imported_parameters import_parameters(const engine_handle& engine, const std::vector<parameter_tuple>& tuples) {
  imported_parameters imported;
  for (const auto& [weights, gradient, master, name, group] : tuples) {
    const std::size_t index = imported.parameters.size();
    const bool has_name = !name.starts_with("weights[");  // the name of weights that have none
    const auto argument = [&](const char* list_name) {
      return has_name ? fmt::format("{}[\"{}\"]", list_name, name) : fmt::format("{}[{}]", list_name, index);
    };
    imported.parameters.push_back(
        {.gradient = imported.take(engine, gradient, argument("gradients"), false, imported.gradients),
         .model = imported.take(engine, weights, argument("weights"), true, imported.owners),
         .master = imported.take(engine, master, argument("masters"), true, imported.owners),
         .name = name,
         .group = group});
  }
  return imported;
}

std::shared_ptr<optimizer_handle> make_optimizer(const std::shared_ptr<engine_handle>& engine, const std::string& name,
                                                 const std::vector<parameter_tuple>& parameters,
                                                 const std::vector<settings_dict>& groups, const std::string& moments,
                                                 bool remainders, const std::string& rounding, std::uint64_t seed,
                                                 bool unscaled_shadow) {
  imported_parameters imported = import_parameters(*engine, parameters);
  std::vector<optimizer_settings> settings;
  for (const settings_dict& fields : groups) settings.push_back(settings_from(name, fields));
  const storage_options storage{
      .moments = value_named<element_type>("moments", moments,
                                           {{"float32", element_type::float32}, {"bfloat16", element_type::bfloat16}}),
      .remainders = remainders,
      .rounding_mode = rounding_named(rounding),
      .seed = seed,
      .unscaled_shadow = unscaled_shadow};
  return engine->call([&] {
    return std::make_shared<optimizer_handle>(optimizer_handle{
        .engine = engine,
        .owners = std::move(imported.owners),
        .gradients = std::move(imported.gradients),
        .read_only = std::move(imported.read_only),
        .has_host_memory = imported.has_host_memory,
        .native = fused_optimizer(engine->native(), std::move(imported.parameters), settings, storage)});
  });
}

void apply(optimizer_handle& optimizer) {
  optimizer.engine->call([&] {
    optimizer.last = optimizer.native.apply(optimizer.engine->dependencies());
    optimizer.engine->finish(optimizer.last, optimizer.memory(), optimizer.has_host_memory);
  });
}

void zero_gradients(optimizer_handle& optimizer) {
  optimizer.check_gradients();
  optimizer.engine->call([&] {
    optimizer.last = optimizer.native.zero_gradients(optimizer.engine->dependencies());
    optimizer.engine->finish(optimizer.last, optimizer.memory(), true);
  });
}

/// Replaces the gradients of all parameters; None: the gradient is absent.
void set_gradients(optimizer_handle& optimizer, const nb::typed<nb::sequence, nb::any>& arrays) {
  const auto imported = import_arrays(*optimizer.engine, arrays, {}, "gradients");
  tensor_list list = optimizer.native.gradients();
  if (imported.size() != list.size())
    throw invalid_argument(
        fmt::format("gradients: there are {} arrays for {} parameters; give one per parameter, or None",
                    imported.size(), list.size()));
  std::vector<void*> addresses;
  std::vector<std::shared_ptr<void>> owners;
  std::vector<std::size_t> read_only;
  for (std::size_t index = 0; index < imported.size(); ++index) {
    addresses.push_back(imported[index] ? imported[index]->address : nullptr);
    if (!imported[index]) continue;
    const const_array_view present = list[index];
    if (imported[index]->count != present.count() || imported[index]->type != present.type())
      throw invalid_argument(fmt::format(
          "gradients[{}]: the array has {} elements of {}, but the parameter needs {} of {}", index,
          imported[index]->count, to_string(imported[index]->type), present.count(), to_string(present.type())));
    owners.push_back(imported[index]->owner);
    if (imported[index]->is_read_only) read_only.push_back(index);
  }
  optimizer.engine->call([&] {
    list.set_addresses(addresses);
    optimizer.read_only = std::move(read_only);
    optimizer.engine->finish(optimizer.last, std::exchange(optimizer.gradients, std::move(owners)), false);
  });
}

nb::bytes to_bytes(const void* data, std::size_t size) { return nb::bytes(data, size); }

nb::bytes weights(optimizer_handle& optimizer, std::size_t parameter) {
  const std::vector<float> values = optimizer.engine->call([&] { return optimizer.native.weights(parameter); });
  return to_bytes(values.data(), values.size() * sizeof(float));
}

/// A moment of a parameter: its type and its bytes.
nb::tuple moment(optimizer_handle& optimizer, std::size_t parameter, std::uint32_t index) {
  const array_view view = optimizer.native.state(parameter, index);
  std::vector<char> bytes(view.count() * bytes_per_element(view.type()));
  optimizer.engine->call([&] {
    optimizer.engine->native().queue().memcpy(bytes.data(), view.data(), bytes.size());
    optimizer.engine->wait();
  });
  return nb::make_tuple(to_string(view.type()), to_bytes(bytes.data(), bytes.size()));
}

void set_settings(optimizer_handle& optimizer, const settings_dict& fields, std::uint32_t group) {
  optimizer_settings settings = optimizer.native.settings(group);
  change_settings(settings, fields);
  optimizer.engine->call([&] { optimizer.native.set(settings, group); });
}

void set_schedule(optimizer_handle& optimizer, const std::string& shape, double gamma, double lowest,
                  std::uint64_t warm_up, std::uint64_t steps) {
  using kind = lr_schedule::shape;
  const lr_schedule schedule{
      .kind = value_named<kind>("shape", shape,
                                {{"constant", kind::constant}, {"cosine", kind::cosine}, {"decay", kind::decay}}),
      .gamma = static_cast<float>(gamma),
      .lowest = static_cast<float>(lowest),
      .warm_up = warm_up,
      .steps = steps};
  optimizer.engine->call([&] { optimizer.native.set_schedule(schedule); });
}

}  // namespace

void register_optimizer(nb::module_& module) {
  nb::class_<optimizer_handle>(module, "FusedOptimizer")
      .def(nb::new_(&make_optimizer), nb::arg("engine"), nb::arg("name"), nb::arg("parameters"), nb::arg("groups"),
           nb::arg("moments"), nb::arg("remainders"), nb::arg("rounding"), nb::arg("seed"), nb::arg("unscaled_shadow"))
      .def("apply", &apply)
      .def("zero_gradients", &zero_gradients)
      .def("set_gradients", &set_gradients, nb::arg("gradients"))
      .def("weights", &weights, nb::arg("parameter"))
      .def("moment", &moment, nb::arg("parameter"), nb::arg("index"),
           nb::sig("def moment(self, parameter: int, index: int) -> tuple[str, bytes]"))
      .def(
          "settings",
          [](const optimizer_handle& self, std::uint32_t group) {
            return settings_dict(to_dict(self.native.settings(group)));
          },
          nb::arg("group"))
      .def("set_settings", &set_settings, nb::arg("fields"), nb::arg("group"))
      .def("set_schedule", &set_schedule, nb::arg("shape"), nb::arg("gamma"), nb::arg("lowest"), nb::arg("warm_up"),
           nb::arg("steps"))
      .def(
          "steps",
          [](optimizer_handle& self, std::uint32_t group) {
            return self.engine->call([&] { return self.native.steps(group); });
          },
          nb::arg("group"))
      .def(
          "progress",
          [](const optimizer_handle& self, std::uint32_t group) {
            const optimizer_progress progress = self.native.progress(group);
            return std::tuple(progress.last_was_applied, progress.finished, progress.applied);
          },
          nb::arg("group"))
      .def_prop_ro("engine", [](const optimizer_handle& self) { return self.engine; })
      .def_prop_ro("size", [](const optimizer_handle& self) { return self.native.size(); })
      .def_prop_ro("groups", [](const optimizer_handle& self) { return self.native.groups(); })
      .def_prop_ro("moments", [](const optimizer_handle& self) { return self.native.states(); })
      .def_prop_ro("device_bytes", [](const optimizer_handle& self) { return self.native.device_bytes(); });
}

}  // namespace syclamp::python
