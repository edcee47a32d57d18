// SPDX-License-Identifier: Apache-2.0
// Python's exceptions for those of the library.
#include <exception>
#include <string>
#include <string_view>

#include <nanobind/stl/string.h>

#include <syclamp/error.hpp>

#include "module.hpp"

namespace nb = nanobind;

namespace syclamp::python {
namespace {

/// The Python types. Python keeps them for the life of the process, because a translator may run at any time.
struct exception_types {
  PyObject *invalid_argument, *misuse, *no_device, *device, *file, *out_of_memory, *kernel_build;
};
exception_types types{};

/// Makes an exception type that derives from syclamp.Error, unless `base` is null, and from a built-in type.
PyObject* make_type(nb::module_& module, const char* name, PyObject* base, PyObject* built_in, const char* doc) {
  const nb::tuple bases =
      base == nullptr ? nb::make_tuple(nb::borrow(built_in)) : nb::make_tuple(nb::borrow(base), nb::borrow(built_in));
  const std::string full = nb::cast<std::string>(module.attr("__name__")) + "." + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
  if (type == nullptr) throw nb::python_error();
  module.attr(name) = nb::borrow(type);
  return type;
}

/// A message of the library with the words of Python: options of C++ are keyword arguments here.
std::string in_python(std::string message) {
  for (const std::string_view owner : {"storage_options::", "scaler_options::", "cast_options::"})
    for (std::size_t place; (place = message.find(owner)) != std::string::npos;) message.erase(place, owner.size());
  return message;
}

void translate(const std::exception_ptr& problem, void*) {
  try {
    std::rethrow_exception(problem);
  } catch (const invalid_argument& error) {
    PyErr_SetString(types.invalid_argument, in_python(error.what()).c_str());
  } catch (const misuse_error& error) {
    PyErr_SetString(types.misuse, in_python(error.what()).c_str());
  } catch (const no_device_error& error) {
    PyErr_SetString(types.no_device, error.what());
  } catch (const device_error& error) {
    PyErr_SetString(types.device, error.what());
  } catch (const file_error& error) {
    PyErr_SetString(types.file, error.what());
  } catch (const out_of_memory_error& error) {
    PyErr_SetString(types.out_of_memory, error.what());
  } catch (const kernel_build_error& error) {
    const nb::object value = nb::borrow(types.kernel_build)(error.what());
    nb::setattr(value, "log", nb::cast(error.log().c_str()));
    PyErr_SetObject(types.kernel_build, value.ptr());
  }
}

}  // namespace

void register_errors(nb::module_& module) {
  PyObject* error = make_type(module, "Error", nullptr, PyExc_Exception, "The base of all exceptions of syclamp.");
  types.invalid_argument =
      make_type(module, "InvalidArgumentError", error, PyExc_ValueError, "An argument cannot be used.");
  types.misuse = make_type(module, "MisuseError", error, PyExc_RuntimeError, "A call came at the wrong time.");
  types.no_device = make_type(module, "NoDeviceError", error, PyExc_RuntimeError, "There is no usable device.");
  types.device = make_type(module, "DeviceError", error, PyExc_RuntimeError, "The device or its driver failed.");
  types.file = make_type(module, "FileError", error, PyExc_OSError,
                         "A file cannot be read or written, or has the wrong content.");
  types.out_of_memory = make_type(module, "OutOfMemoryError", error, PyExc_MemoryError, "Memory cannot be allocated.");
  types.kernel_build = make_type(module, "KernelBuildError", error, PyExc_RuntimeError,
                                 "A kernel does not compile for the device. `log` is the compiler's output.");
  nb::register_exception_translator(translate);
}

}  // namespace syclamp::python
