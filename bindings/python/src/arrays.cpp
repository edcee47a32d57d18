// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <syclamp/error.hpp>

#include "array_layout.hpp"
#include "dlpack_arrays.hpp"
#include "interface_arrays.hpp"
#include "module.hpp"
#include "queues.hpp"

namespace nb = nanobind;

namespace syclamp::python {

element_pointer imported_array::pointer() const {
  if (is_read_only) return {static_cast<const void*>(address), type};
  return {address, type};
}

element_type element_type_from(std::string_view name) {
  std::vector<const char*> names;
  for (const element_type type : element_types) {
    if (name == to_string(type)) return type;
    names.push_back(to_string(type));
  }
  throw invalid_argument(fmt::format("dtype: \"{}\" is not one of {}", name, fmt::join(names, ", ")));
}

std::shared_ptr<void> keep(nb::handle object) {
  object.inc_ref();
  return {object.ptr(), [](void* pointer) {
            if (!Py_IsInitialized()) return;
            const nb::gil_scoped_acquire python;
            Py_DECREF(static_cast<PyObject*>(pointer));
          }};
}

imported_array import_array(nb::handle object, const std::string& argument, std::optional<element_type> type) {
  if (nb::isinstance<imported_array>(object)) {
    const auto& known = nb::cast<const imported_array&>(object);
    resolve_type(known.type, 0, false, to_string(known.type), argument, type);
    return known;
  }
  if (auto array = from_exchange_table(object, argument, type)) return *std::move(array);
  if (auto array = from_usm_interface(object, argument, type)) return *std::move(array);
  if (auto array = from_buffer(object, argument, type)) return *std::move(array);
  if (auto array = from_array_interface(object, argument, type)) return *std::move(array);
  if (auto array = from_dlpack(object, argument, type)) return *std::move(array);
  throw nb::type_error(
      fmt::format("{}: an array is needed, not {}; arrays of NumPy, dpnp and every library with DLPack work", argument,
                  nb::type_name(object.type()).c_str())
          .c_str());
}

void check_memory(const engine_handle& engine, const imported_array& array, const std::string& argument) {
  if (array.count == 0) return;
  const sycl::queue& queue = engine.native().queue();
  if (array.is_host && !engine.reads_host_memory())
    throw invalid_argument(fmt::format(
        "{}: the array is in host memory, which the device {} cannot use; pass USM memory, for example of dpnp",
        argument, queue.get_device().get_info<sycl::info::device::name>()));
  if (array.queue && !engine.serves(*array.queue))
    throw invalid_argument(fmt::format(
        "{}: the array belongs to another queue than the engine's, so nothing would order their commands; use arrays "
        "of one queue, and make the engine with that queue, for example "
        "syclamp.Engine(queue=syclamp.Array(array).sycl_queue)",
        argument));
  if (!array.is_host && sycl::get_pointer_type(array.address, queue.get_context()) == sycl::usm::alloc::unknown)
    throw invalid_argument(fmt::format(
        "{}: the array is in memory of another SYCL context; make the engine with the array's queue, for example "
        "syclamp.Engine(queue=array.sycl_queue)",
        argument));
}

void check_writable(const imported_array& array, const std::string& argument) {
  if (array.is_read_only)
    throw invalid_argument(
        fmt::format("{}: the array is read-only, but the operation writes it; pass a writable array", argument));
}

constexpr const char* array_doc =
    "An array of another library, used in place. Only needed to name the format of arrays of integers.\n\n"
    ">>> import array, syclamp\n"
    ">>> bits = array.array(\"H\", [0x3f80, 0x4000])\n"
    ">>> weights = syclamp.Array(bits, dtype=\"bfloat16\")\n"
    ">>> weights.dtype, weights.shape, syclamp.inspect(weights).amax\n"
    "('bfloat16', (2,), 2.0)\n";

void register_arrays(nb::module_& module) {
  nb::class_<imported_array>(module, "Array", array_doc)
      .def(nb::new_([](const nb::object& object, const std::optional<std::string>& dtype) {
             const auto type = dtype ? std::optional(element_type_from(*dtype)) : std::nullopt;
             return import_array(object, "array", type);
           }),
           nb::arg("array"), nb::arg("dtype").none() = nb::none())
      .def_prop_ro("dtype", [](const imported_array& array) { return std::string(to_string(array.type)); })
      .def_prop_ro("shape",
                   [](const imported_array& array) {
                     return nb::typed<nb::tuple, int, nb::ellipsis>(nb::tuple(nb::cast(array.shape)));
                   })
      .def_ro("size", &imported_array::count)
      .def_ro("is_read_only", &imported_array::is_read_only)
      .def_ro("is_host", &imported_array::is_host)
      .def_prop_ro("sycl_queue",
                   [](const imported_array& array) { return array.queue ? capsule_of(*array.queue) : nb::none(); })
      .def_prop_ro("address",
                   [](const imported_array& array) { return reinterpret_cast<std::uintptr_t>(array.address); });
}

}  // namespace syclamp::python
