// SPDX-License-Identifier: Apache-2.0
#include "dlpack_arrays.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <syclamp/error.hpp>

#include "array_layout.hpp"
#include "dlpack.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

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

/// The queue to which the library submits its commands on a device; nothing if it does not tell it.
std::optional<sycl::queue> current_queue(const dlpack::exchange_api& table, dlpack::device device) {
  void* queue = nullptr;
  if (table.current_work_stream == nullptr) return {};
  if (table.current_work_stream(device.type, device.id, &queue) != 0) throw nb::python_error();
  if (queue == nullptr) return {};
  return *static_cast<const sycl::queue*>(queue);
}

/// Throws the error of an array library again, with the name of the argument and without the library's stack.
/// \param remedy  what the caller can do
[[noreturn]] void throw_named(nb::python_error& problem, const std::string& argument, const char* remedy) {
  if (!problem.matches(PyExc_Exception)) {  // such as KeyboardInterrupt
    problem.restore();
    nb::raise_python_error();
  }
  const auto text = nb::cast<std::string>(nb::str(problem.value()));
  throw invalid_argument(
      fmt::format("{}: {}; the array's library says: {}", argument, remedy, text.substr(0, text.find('\n'))));
}

constexpr const char* memory_remedy = "pass a dense array that has memory";
constexpr const char* queue_remedy = "pass an array of a device for which its library has a queue";

}  // namespace

std::optional<imported_array> from_exchange_table(nb::handle object, const std::string& argument,
                                                  std::optional<element_type> wanted) {
  const dlpack::exchange_api* table = exchange_table(object);
  if (table == nullptr || table->managed_tensor_from_object == nullptr) return {};
  dlpack::managed_tensor_versioned* managed = nullptr;
  if (table->managed_tensor_from_object(object.ptr(), &managed) != 0) {
    nb::python_error problem;
    throw_named(problem, argument, memory_remedy);
  }
  imported_array array = from_versioned(managed, argument, wanted);
  try {
    if (!array.is_host) array.queue = current_queue(*table, managed->tensor.device);
  } catch (nb::python_error& problem) {
    throw_named(problem, argument, queue_remedy);
  }
  return array;
}

std::optional<imported_array> from_dlpack(nb::handle object, const std::string& argument,
                                          std::optional<element_type> wanted) {
  if (!nb::hasattr(object, "__dlpack__")) return {};
  nb::object capsule;
  try {
    capsule = object.attr("__dlpack__")(nb::arg("max_version") = nb::make_tuple(dlpack::supported_major, 0));
  } catch (nb::python_error& problem) {
    if (!problem.matches(PyExc_TypeError)) throw_named(problem, argument, memory_remedy);
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
  throw invalid_argument(
      fmt::format("{}: __dlpack__ of {} returned no DLPack capsule", argument, nb::type_name(object.type()).c_str()));
}

}  // namespace syclamp::python
