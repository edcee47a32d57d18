// SPDX-License-Identifier: Apache-2.0
#include "tensors.hpp"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <syclamp/cast.hpp>
#include <syclamp/device_array.hpp>
#include <syclamp/error.hpp>
#include <syclamp/gradients.hpp>
#include <syclamp/inspector.hpp>

#include "module.hpp"
#include "names.hpp"

namespace nb = nanobind;

namespace syclamp::python {

std::string describe_array(const std::string& argument, const std::vector<std::string>& names, std::size_t index) {
  if (index < names.size()) return fmt::format("{}[\"{}\"]", argument, names[index]);
  return fmt::format("{}[{}]", argument, index);
}

std::vector<std::optional<imported_array>> import_arrays(const engine_handle& engine, const nb::sequence& arrays,
                                                         const std::vector<std::string>& names,
                                                         const std::string& argument) {
  std::vector<std::optional<imported_array>> imported;
  for (const nb::handle array : arrays) {
    const std::string name = describe_array(argument, names, imported.size());
    imported.emplace_back();
    if (array.is_none()) continue;
    imported.back() = import_array(array, name);
    check_memory(engine, *imported.back(), name);
  }
  return imported;
}

namespace {

std::vector<tensor> describe(const std::vector<std::optional<imported_array>>& arrays,
                             const std::vector<std::string>& names, const std::vector<std::uint32_t>& groups,
                             const std::string& argument) {
  const auto check = [&](std::size_t count, const char* noun) {
    if (count != 0 && count != arrays.size())
      throw invalid_argument(
          fmt::format("{}: there are {} {} for {} arrays; give one per array", argument, count, noun, arrays.size()));
  };
  check(names.size(), "names");
  check(groups.size(), "groups");
  std::vector<tensor> tensors;
  for (std::size_t index = 0; index < arrays.size(); ++index) {
    if (!arrays[index])  // a list fixes sizes and types, which None does not have
      throw invalid_argument(
          fmt::format("{}: the array is None; leave it out, or pass an array", describe_array(argument, names, index)));
    tensors.push_back({.data = arrays[index]->pointer(),
                       .count = arrays[index]->count,
                       .name = names.empty() ? describe_array(argument, names, index) : names[index],
                       .group = groups.empty() ? 0 : groups[index]});
  }
  return tensors;
}

}  // namespace

tensors_handle::tensors_handle(std::shared_ptr<engine_handle> engine, const nb::sequence& arrays,
                               const std::vector<std::string>& names, const std::vector<std::uint32_t>& groups,
                               const std::string& argument)
    : engine_(std::move(engine)), argument_(argument), names_(names) {
  const auto imported = import_arrays(*engine_, arrays, names, argument);
  const std::vector<tensor> tensors = describe(imported, names, groups, argument);
  for (const auto& array : imported) {
    owners_.push_back(array->owner);
    has_host_memory_ |= array->is_host;
  }
  engine_->call([&] { list_.emplace(engine_->native(), tensors); });
}

void tensors_handle::check_writable() const {
  for (std::size_t index = 0; index < list_->size(); ++index) {
    try {
      static_cast<void>(list_->writable(index));
    } catch (const invalid_argument&) {
      throw invalid_argument(
          fmt::format("{}: the array is read-only, but the operation writes it; pass a writable array",
                      describe_array(argument_, names_, index)));
    }
  }
}

void tensors_handle::check_float32(const char* remedy) const {
  for (std::size_t index = 0; index < list_->size(); ++index)
    if (const const_array_view array = (*list_)[index]; array.type() != element_type::float32)
      throw invalid_argument(fmt::format("{}: the array is {}, but float32 is needed; {}",
                                         describe_array(argument_, names_, index), to_string(array.type()), remedy));
}

std::vector<std::shared_ptr<void>> owners_of(std::initializer_list<const tensors_handle*> lists) {
  std::vector<std::shared_ptr<void>> owners;
  for (const tensors_handle* list : lists) owners.insert(owners.end(), list->owners().begin(), list->owners().end());
  return owners;
}

namespace {

/// Submits an operation that reads `in` and writes `out`.
template <typename Operation>
void run(const tensors_handle& in, const tensors_handle& out, const Operation& operation) {
  out.check_writable();
  out.engine().call([&] {
    const sycl::event done = operation(out.engine().dependencies());
    out.engine().finish(done, owners_of({&in, &out}), out.has_host_memory());
  });
}

void unscale_tensors(const tensors_handle& in, const tensors_handle& out, float scale) {
  out.check_float32(unscale_remedy);
  run(in, out, [&](const auto& events) { return unscale(in.list(), out.list(), scale, events).done(); });
}

void scale_tensors(const tensors_handle& in, const tensors_handle& out, float factor) {
  run(in, out, [&](const auto& events) { return scale(in.list(), out.list(), factor, events); });
}

void accumulate_tensors(const tensors_handle& in, const tensors_handle& sum, float scale) {
  run(in, sum, [&](const auto& events) { return accumulate(in.list(), sum.list(), scale, nullptr, events).done(); });
}

void clear_tensors(const tensors_handle& list) {
  run(list, list, [&](const auto& events) { return clear_gradients(list.list(), nullptr, events); });
}

constexpr const char* clip_remedy = "unscale the gradients to float32 arrays first, for example with unscale(…, out=…)";

void clip_by_value_tensors(const tensors_handle& list, float limit) {
  list.check_float32(clip_remedy);
  run(list, list,
      [&](const auto& events) { return clip_by_value(unscaled_gradients::never_scaled(list.list()), limit, events); });
}

/// Clips unscaled gradients in place, and returns their norm and the coefficient. Waits.
std::pair<float, float> clip_tensors(const tensors_handle& list, float max_norm, const std::string& norm) {
  list.check_float32(clip_remedy);
  list.check_writable();
  const norm_kind kind = norm_named(norm);
  return list.engine().call([&] {
    engine_handle& engine = list.engine();
    const auto gradients = unscaled_gradients::never_scaled(list.list());
    const inspector found(list.list(), kind == norm_kind::l1 ? inspection_level::tensors : inspection_level::list);
    found.run({}, engine.dependencies());
    const device_array<clip_result> result(engine.native(), 1);
    clip_coefficient(engine.native(), found.device_result(), max_norm, result.data(), kind);
    engine.finish(clip(gradients, result.data()), owners_of({&list}), list.has_host_memory());
    const clip_result value = result.to_vector().front();
    return std::pair(value.norm, value.coefficient);
  });
}

/// Casts, and returns the number of values outside the range if it is wanted, which waits.
std::optional<std::uint64_t> cast_tensors(const tensors_handle& in, const tensors_handle& out,
                                          const std::string& rounding, bool saturate, std::uint64_t seed,
                                          std::uint64_t step, bool count) {
  out.check_writable();
  cast_options options{.rounding_mode = rounding_named(rounding), .saturate = saturate, .seed = seed};
  return out.engine().call([&] {
    engine_handle& engine = out.engine();
    const std::uint64_t numbers[] = {0, step};
    std::optional<device_array<std::uint64_t>> memory;
    if (count || step != 0) {
      memory.emplace(engine.native(), std::span<const std::uint64_t>(numbers));
      options.saturated = count ? memory->data() : nullptr;
      options.step = memory->data() + 1;
    }
    const sycl::event done = cast(in.list(), out.list(), options, engine.dependencies());
    engine.finish(done, owners_of({&in, &out}), out.has_host_memory());
    return count ? std::optional(memory->to_vector().front()) : std::nullopt;
  });
}

inspection_level level_named(const std::string& name) {
  return value_named<inspection_level>("level", name,
                                       {{"list", inspection_level::list},
                                        {"tensors", inspection_level::tensors},
                                        {"histogram", inspection_level::histogram}});
}

/// An inspector with the list that it reads.
struct inspector_handle {
  std::shared_ptr<tensors_handle> tensors;
  inspector native;

  void run(std::optional<float> scale) {
    tensors->engine().call([&] {
      const auto number = scale ? std::optional<scalar>(*scale) : std::nullopt;
      const sycl::event done = native.run(number, tensors->engine().dependencies());
      tensors->engine().finish(done, tensors->owners(), false);
    });
  }
  template <typename Read>
  auto read(const Read& read) const {
    return tensors->engine().call([&] { return read(native); });
  }
};

std::shared_ptr<inspector_handle> make_inspector(const std::shared_ptr<tensors_handle>& tensors,
                                                 const std::string& level) {
  const inspection_level wanted = level_named(level);
  return tensors->engine().call([&] {
    return std::make_shared<inspector_handle>(inspector_handle{tensors, inspector(tensors->list(), wanted)});
  });
}

void bind_tensors(nb::module_& module) {
  nb::class_<tensors_handle>(module, "Tensors", "Arrays that `syclamp.tensors` has checked and keeps alive.")
      .def(nb::init<std::shared_ptr<engine_handle>, nb::typed<nb::sequence, nb::any>, std::vector<std::string>,
                    std::vector<std::uint32_t>, std::string>(),
           nb::arg("engine"), nb::arg("arrays"), nb::arg("names") = std::vector<std::string>{},
           nb::arg("groups") = std::vector<std::uint32_t>{}, nb::arg("argument") = "arrays")
      .def("__len__", [](const tensors_handle& tensors) { return tensors.list().size(); })
      .def_prop_ro("names", &tensors_handle::names)
      .def_prop_ro("elements", [](const tensors_handle& tensors) { return tensors.list().elements(); })
      .def_prop_ro("engine", &tensors_handle::shared_engine);
  nb::class_<inspector_handle>(module, "Inspector")
      .def(nb::new_(&make_inspector), nb::arg("tensors"), nb::arg("level") = "list")
      .def("run", &inspector_handle::run, nb::arg("scale").none() = nb::none())
      .def("result",
           [](const inspector_handle& self) { return self.read([](const inspector& i) { return i.result(); }); })
      .def("tensors",
           [](const inspector_handle& self) { return self.read([](const inspector& i) { return i.tensors(); }); })
      .def("groups",
           [](const inspector_handle& self) { return self.read([](const inspector& i) { return i.groups(); }); })
      .def("histogram", [](const inspector_handle& self) {
        const exponent_histogram counts = self.read([](const inspector& i) { return i.histogram(); });
        return std::vector<std::uint64_t>(std::begin(counts.counts), std::end(counts.counts));
      });
}

}  // namespace

void register_tensors(nb::module_& module) {
  bind_tensors(module);
  module.def("unscale", &unscale_tensors, nb::arg("tensors"), nb::arg("out"), nb::arg("scale"));
  module.def("scale", &scale_tensors, nb::arg("tensors"), nb::arg("out"), nb::arg("factor"));
  module.def("accumulate", &accumulate_tensors, nb::arg("tensors"), nb::arg("sum"), nb::arg("scale"));
  module.def("clear", &clear_tensors, nb::arg("tensors"));
  module.def("clip", &clip_tensors, nb::arg("tensors"), nb::arg("max_norm"), nb::arg("norm"));
  module.def("clip_by_value", &clip_by_value_tensors, nb::arg("tensors"), nb::arg("limit"));
  module.def("cast", &cast_tensors, nb::arg("tensors"), nb::arg("out"), nb::arg("rounding"), nb::arg("saturate"),
             nb::arg("seed"), nb::arg("step"), nb::arg("count_saturated"));
}

}  // namespace syclamp::python
