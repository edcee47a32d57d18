// SPDX-License-Identifier: Apache-2.0
#include "arrays.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <nanobind/typing.h>

#include <syclamp/error.hpp>

#include "dlpack.hpp"
#include "module.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

std::string class_name(nb::handle object) { return nb::type_name(object.type()).c_str(); }

/// A reference to a Python object that may be dropped by any thread.
std::shared_ptr<void> keep(nb::handle object) {
  object.inc_ref();
  return {object.ptr(), [](void* pointer) {
            if (!Py_IsInitialized()) return;
            const nb::gil_scoped_acquire python;
            Py_DECREF(static_cast<PyObject*>(pointer));
          }};
}

/// The format of elements whose bits are a floating-point number, or an integer that stands for one.
element_type resolve_type(std::optional<element_type> stored, unsigned bits, bool is_integer, const std::string& found,
                          const std::string& argument, std::optional<element_type> wanted) {
  if (stored && (!wanted || *wanted == *stored)) return *stored;
  if (stored)
    throw invalid_argument(fmt::format("{}: the array's dtype is {}, but dtype says {}; leave dtype out", argument,
                                       found, to_string(*wanted)));
  if (is_integer && wanted && bytes_per_element(*wanted) * 8 == bits) return *wanted;
  if (is_integer && (bits == 16 || bits == 8))
    throw invalid_argument(fmt::format(
        "{}: the array's dtype is {}; if its elements are {} numbers, pass syclamp.Array(array, dtype=\"{}\")",
        argument, found, bits == 16 ? "BF16" : "FP8", bits == 16 ? "bfloat16" : "float8_e4m3"));
  throw invalid_argument(fmt::format(
      "{}: the dtype {} is not supported; use float16, bfloat16, float32, float64, float8_e4m3 or float8_e5m2",
      argument, found));
}

/// The number of elements.
/// \throws invalid_argument if the array is not row-major without gaps
std::uint64_t count_contiguous(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides,
                               const std::string& argument) {
  std::uint64_t count = 1;
  for (const std::int64_t length : shape) count *= static_cast<std::uint64_t>(length);
  if (strides.empty() || count <= 1) return count;
  std::int64_t expected = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != expected)
      throw invalid_argument(fmt::format(
          "{}: the array is not contiguous (shape {}, strides {} in elements); pass a contiguous array, for "
          "example numpy.ascontiguousarray(array) or tensor.contiguous()",
          argument, shape, strides));
    expected *= shape[axis];
  }
  return count;
}

// --- DLPack ---------------------------------------------------------------------------------------------------------

std::optional<element_type> stored_type(dlpack::data_type type) {
  using dlpack::type_code;
  if (type.lanes != 1) return {};
  if (type.code == type_code::floating && type.bits == 16) return element_type::float16;
  if (type.code == type_code::floating && type.bits == 32) return element_type::float32;
  if (type.code == type_code::floating && type.bits == 64) return element_type::float64;
  if (type.code == type_code::bfloat && type.bits == 16) return element_type::bfloat16;
  if (type.code == type_code::float8_e4m3fn && type.bits == 8) return element_type::float8_e4m3;
  if (type.code == type_code::float8_e5m2 && type.bits == 8) return element_type::float8_e5m2;
  return {};
}

std::string describe(dlpack::data_type type) {
  const auto code = static_cast<unsigned>(type.code);
  const char* name = type.code == dlpack::type_code::unsigned_integer ? "uint"
                     : type.code == dlpack::type_code::signed_integer ? "int"
                     : type.code == dlpack::type_code::floating       ? "float"
                                                                      : nullptr;
  if (name != nullptr && type.lanes == 1) return fmt::format("{}{}", name, type.bits);
  return fmt::format("with DLPack code {}, {} bits, {} lanes", code, type.bits, type.lanes);
}

bool is_host(dlpack::device_type type, const std::string& argument) {
  using dlpack::device_type;
  switch (type) {
    case device_type::cpu:
    case device_type::cuda_host:
    case device_type::rocm_host: return true;
    case device_type::one_api: return false;
    default:
      throw invalid_argument(
          fmt::format("{}: the array is in memory of another runtime (DLPack device type {}); pass host memory or USM "
                      "memory of SYCL",
                      argument, static_cast<int>(type)));
  }
}

imported_array from_tensor(const dlpack::tensor& tensor, bool is_read_only, std::shared_ptr<void> owner,
                           const std::string& argument, std::optional<element_type> wanted) {
  imported_array array;
  array.is_host = is_host(tensor.device.type, argument);
  array.type = resolve_type(stored_type(tensor.type), tensor.type.bits,
                            tensor.type.code == dlpack::type_code::unsigned_integer && tensor.type.lanes == 1,
                            describe(tensor.type), argument, wanted);
  array.shape.assign(tensor.shape, tensor.shape + tensor.dimensions);
  std::vector<std::int64_t> strides;
  if (tensor.strides != nullptr) strides.assign(tensor.strides, tensor.strides + tensor.dimensions);
  array.count = count_contiguous(array.shape, strides, argument);
  array.address = tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
  array.is_read_only = is_read_only;
  array.owner = std::move(owner);
  return array;
}

/// Calls the deleter of a managed tensor, which may call Python.
template <typename Managed>
std::shared_ptr<void> own(Managed* managed) {
  return {managed, [](void* pointer) {
            auto* tensor = static_cast<Managed*>(pointer);
            if (tensor->deleter == nullptr || !Py_IsInitialized()) return;
            const nb::gil_scoped_acquire python;
            const nb::error_scope no_error;  // the list of an operation that has failed may own the tensor
            tensor->deleter(tensor);
          }};
}

imported_array from_versioned(dlpack::managed_tensor_versioned* managed, const std::string& argument,
                              std::optional<element_type> wanted) {
  std::shared_ptr<void> owner = own(managed);  // deletes it, also if its version is too new to be read
  if (managed->version.major != dlpack::supported_major)
    throw invalid_argument(
        fmt::format("{}: the array library speaks DLPack {}.{}, but this version of syclamp reads {}.x", argument,
                    managed->version.major, managed->version.minor, dlpack::supported_major));
  return from_tensor(managed->tensor, (managed->flags & dlpack::flag_read_only) != 0, std::move(owner), argument,
                     wanted);
}

/// The table of the object's type; null if it has none of a version that is understood.
const dlpack::exchange_api* exchange_table(nb::handle object) {
  const nb::handle type = object.type();
  if (!nb::hasattr(type, "__dlpack_c_exchange_api__")) return nullptr;
  const nb::object capsule = type.attr("__dlpack_c_exchange_api__");
  const auto* table =
      static_cast<const dlpack::exchange_api*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (table == nullptr) PyErr_Clear();
  while (table != nullptr && table->header.version.major != dlpack::supported_major) table = table->header.previous;
  return table;
}

/// Throws the error of an array library again, with the name of the argument and without the library's stack.
[[noreturn]] void throw_named(nb::python_error& problem, const std::string& argument) {
  if (!problem.matches(PyExc_Exception)) {  // such as KeyboardInterrupt
    problem.restore();
    nb::raise_python_error();
  }
  const auto text = nb::cast<std::string>(nb::str(problem.value()));
  throw invalid_argument(fmt::format("{}: pass a dense array that has memory; the array's library says: {}", argument,
                                     text.substr(0, text.find('\n'))));
}

std::optional<imported_array> from_exchange_table(nb::handle object, const std::string& argument,
                                                  std::optional<element_type> wanted) {
  const dlpack::exchange_api* table = exchange_table(object);
  if (table == nullptr || table->managed_tensor_from_object == nullptr) return {};
  dlpack::managed_tensor_versioned* managed = nullptr;
  if (table->managed_tensor_from_object(object.ptr(), &managed) != 0) {
    nb::python_error problem;
    throw_named(problem, argument);
  }
  return from_versioned(managed, argument, wanted);
}

std::optional<imported_array> from_dlpack(nb::handle object, const std::string& argument,
                                          std::optional<element_type> wanted) {
  if (!nb::hasattr(object, "__dlpack__")) return {};
  nb::object capsule;
  try {
    capsule = object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(dlpack::supported_major, 0));
  } catch (nb::python_error& problem) {
    if (!problem.matches(PyExc_TypeError)) throw_named(problem, argument);
    capsule = object.attr("__dlpack__")();  // a library older than DLPack 1.0 does not know the argument
  }
  // A used capsule gets another name, so that its destructor leaves the tensor to its new owner.
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    void* managed = PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned");
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    return from_versioned(static_cast<dlpack::managed_tensor_versioned*>(managed), argument, wanted);
  }
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor") != 0) {
    auto* managed = static_cast<dlpack::managed_tensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");
    return from_tensor(managed->tensor, false, own(managed), argument, wanted);
  }
  throw invalid_argument(fmt::format("{}: __dlpack__ of {} returned no DLPack capsule", argument, class_name(object)));
}

// --- The buffer protocol and the interfaces by dictionary -----------------------------------------------------------

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
  return array;
}

std::optional<imported_array> from_interface_named(nb::handle object, const char* name, bool is_usm,
                                                   const std::string& argument, std::optional<element_type> wanted) {
  if (!nb::hasattr(object, name)) return {};
  return from_interface(object, nb::cast<nb::dict>(object.attr(name)), is_usm, argument, wanted);
}

}  // namespace

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

imported_array import_array(nb::handle object, const std::string& argument, std::optional<element_type> type) {
  if (nb::isinstance<imported_array>(object)) {
    const auto& known = nb::cast<const imported_array&>(object);
    resolve_type(known.type, 0, false, to_string(known.type), argument, type);
    return known;
  }
  if (auto array = from_exchange_table(object, argument, type)) return *std::move(array);
  if (auto array = from_interface_named(object, "__sycl_usm_array_interface__", true, argument, type))
    return *std::move(array);
  if (auto array = from_buffer(object, argument, type)) return *std::move(array);
  if (type_by_name(object))
    if (auto array = from_interface_named(object, "__array_interface__", false, argument, type))
      return *std::move(array);
  if (auto array = from_dlpack(object, argument, type)) return *std::move(array);
  throw nb::type_error(
      fmt::format("{}: an array is needed, not {}; arrays of NumPy, dpnp and every library with DLPack work", argument,
                  class_name(object))
          .c_str());
}

void check_memory(const engine_handle& engine, const imported_array& array, const std::string& argument) {
  if (array.count == 0) return;
  const sycl::queue& queue = engine.native().queue();
  if (array.is_host && !engine.reads_host_memory())
    throw invalid_argument(fmt::format(
        "{}: the array is in host memory, which the device {} cannot use; pass USM memory, for example of dpnp",
        argument, queue.get_device().get_info<sycl::info::device::name>()));
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
      .def_prop_ro("address",
                   [](const imported_array& array) { return reinterpret_cast<std::uintptr_t>(array.address); });
}

}  // namespace syclamp::python
