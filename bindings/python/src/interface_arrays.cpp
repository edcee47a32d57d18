// SPDX-License-Identifier: Apache-2.0
#include "interface_arrays.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <syclamp/error.hpp>

#include "array_layout.hpp"
#include "queues.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

std::shared_ptr<Py_buffer> get_buffer(nb::handle object) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();  // NumPy has no buffer for some dtypes
    return {};
  }
  return {view.release(), [](Py_buffer* used) {
            if (Py_IsInitialized()) {
              const nb::gil_scoped_acquire python;
              PyBuffer_Release(used);
            }
            delete used;
          }};
}

/// The type behind a one-letter format of the module struct, in the machine's byte order.
std::optional<element_type> stored_type(std::string_view format) {
  if (format == "e") return element_type::float16;
  if (format == "f") return element_type::float32;
  if (format == "d") return element_type::float64;
  return {};
}

/// The dtype behind a format of the module struct, for messages.
std::string describe(std::string_view format, Py_ssize_t bytes) {
  if (format == "?") return "bool";
  for (const auto& [letters, name] : {std::pair("bhilqn", "int"), std::pair("BHILQN", "uint")})
    if (format.size() == 1 && std::strchr(letters, format[0]) != nullptr) return fmt::format("{}{}", name, bytes * 8);
  return fmt::format("with format \"{}\"", format);
}

/// Turns strides in bytes into strides in elements.
/// \throws invalid_argument if a stride is not a multiple of an element, as for a field of a structured array
void count_in_elements(std::vector<std::int64_t>& strides, std::int64_t bytes, const std::string& argument) {
  for (std::int64_t& stride : strides) {
    if (stride % bytes != 0)
      throw invalid_argument(
          fmt::format("{}: the array is not contiguous (a stride of {} bytes between elements of {} bytes); pass a "
                      "contiguous array, for example numpy.ascontiguousarray(array) or tensor.contiguous()",
                      argument, stride, bytes));
    stride /= bytes;
  }
}

/// The type behind a type string such as "<f4".
std::optional<element_type> stored_type_of_string(std::string_view text) {
  if (text == "<f2" || text == "|f2") return element_type::float16;
  if (text == "<f4" || text == "|f4") return element_type::float32;
  if (text == "<f8" || text == "|f8") return element_type::float64;
  return {};
}

/// A type of ml_dtypes, which NumPy calls "V2" or "V1".
std::optional<element_type> type_by_name(nb::handle object) {
  if (!nb::hasattr(object, "dtype")) return {};
  const nb::object dtype = object.attr("dtype");
  if (!nb::hasattr(dtype, "name")) return {};
  const auto name = nb::cast<std::string>(nb::str(dtype.attr("name")));
  if (name == "bfloat16") return element_type::bfloat16;
  if (name == "float8_e4m3fn") return element_type::float8_e4m3;
  if (name == "float8_e5m2") return element_type::float8_e5m2;
  return {};
}

std::vector<std::int64_t> numbers(nb::handle object) {
  return object.is_none() ? std::vector<std::int64_t>{} : nb::cast<std::vector<std::int64_t>>(object);
}

/// Reads `__array_interface__` of NumPy (strides in bytes) or `__sycl_usm_array_interface__` of dpctl (in elements).
imported_array from_interface(nb::handle object, const nb::dict& interface, bool is_usm, const std::string& argument,
                              std::optional<element_type> wanted) {
  const auto text = nb::cast<std::string>(nb::str(interface["typestr"]));
  if (text.size() < 3) throw invalid_argument(fmt::format("{}: the typestr \"{}\" is not valid", argument, text));
  std::optional<element_type> stored = stored_type_of_string(text);
  if (!stored) stored = type_by_name(object);
  const auto bytes = static_cast<unsigned>(std::stoul(text.substr(2)));
  imported_array array;
  array.type = resolve_type(stored, bytes * 8, text[1] == 'u', text, argument, wanted);
  array.shape = numbers(interface["shape"]);
  std::vector<std::int64_t> strides =
      numbers(interface.contains("strides") ? nb::object(interface["strides"]) : nb::none());
  if (!is_usm) count_in_elements(strides, bytes, argument);
  array.count = count_contiguous(array.shape, strides, argument);
  const auto data = nb::cast<nb::tuple>(interface["data"]);
  const std::int64_t offset = interface.contains("offset") ? nb::cast<std::int64_t>(interface["offset"]) : 0;
  const auto address = nb::cast<std::uintptr_t>(data[0]) + static_cast<std::uintptr_t>(offset * bytes);
  array.address = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): Python has it as a number
  array.is_read_only = nb::cast<bool>(data[1]);
  array.is_host = !is_usm;
  array.owner = keep(object);
  if (!is_usm || !interface.contains("syclobj")) return array;
  array.queue = find_queue(nb::object(interface["syclobj"]));  // or a context, which orders nothing
  return array;
}

std::optional<imported_array> from_interface_named(nb::handle object, const char* name, bool is_usm,
                                                   const std::string& argument, std::optional<element_type> wanted) {
  if (!nb::hasattr(object, name)) return {};
  return from_interface(object, nb::cast<nb::dict>(object.attr(name)), is_usm, argument, wanted);
}

}  // namespace

std::optional<imported_array> from_buffer(nb::handle object, const std::string& argument,
                                          std::optional<element_type> wanted) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return {};
  const std::shared_ptr<Py_buffer> view = get_buffer(object);
  if (!view) return {};
  std::string_view format = view->format == nullptr ? "B" : view->format;
  if (format.size() == 2 && (format[0] == '@' || format[0] == '=' || format[0] == '<')) format.remove_prefix(1);
  imported_array array;
  array.type = resolve_type(stored_type(format), static_cast<unsigned>(view->itemsize) * 8,
                            format == "H" || format == "B", describe(format, view->itemsize), argument, wanted);
  array.shape.assign(view->shape, view->shape + view->ndim);
  std::vector<std::int64_t> strides(view->strides, view->strides + view->ndim);
  count_in_elements(strides, view->itemsize, argument);
  array.count = count_contiguous(array.shape, strides, argument);
  array.address = view->buf;
  array.is_read_only = view->readonly != 0;
  array.is_host = true;
  array.owner = view;
  return array;
}

std::optional<imported_array> from_usm_interface(nb::handle object, const std::string& argument,
                                                 std::optional<element_type> wanted) {
  return from_interface_named(object, "__sycl_usm_array_interface__", true, argument, wanted);
}

std::optional<imported_array> from_array_interface(nb::handle object, const std::string& argument,
                                                   std::optional<element_type> wanted) {
  if (!type_by_name(object)) return {};
  return from_interface_named(object, "__array_interface__", false, argument, wanted);
}

}  // namespace syclamp::python
