// SPDX-License-Identifier: Apache-2.0
#include "torch_functions.hpp"

#include <string>

#include <dlfcn.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace syclamp::python {
namespace {

/// \return false if no library of PyTorch has this function
template <typename Function>
bool find(void* library, const char* name, Function** found) {
  *found = reinterpret_cast<Function*>(dlsym(library, name));
  return *found != nullptr;
}

template <typename Function>
void need(void* library, const std::string& name, Function** found) {
  const std::string symbol = "aoti_torch_" + name;
  if (!find(library, symbol.c_str(), found))
    throw nb::import_error(("syclamp.torch: this PyTorch does not have the function " + symbol +
                            " for extensions; install PyTorch 2.10 or newer")
                               .c_str());
}

std::int32_t number(void* library, const std::string& name) {
  std::int32_t (*function)() = nullptr;
  need(library, name, &function);
  return function();
}

torch_functions find_all(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);  // its dependencies are searched, too
  if (library == nullptr)
    throw nb::import_error(("syclamp.torch: the library of PyTorch, " + path + ", cannot be opened").c_str());
  torch_functions found{};
  need(library, "is_defined", &found.is_defined);
  need(library, "get_data_ptr", &found.get_data_ptr);
  need(library, "get_dim", &found.get_dim);
  need(library, "get_sizes", &found.get_sizes);
  need(library, "get_strides", &found.get_strides);
  need(library, "get_dtype", &found.get_dtype);
  need(library, "get_device_type", &found.get_device_type);
  need(library, "get_layout", &found.get_layout);
  found.cpu = number(library, "device_type_cpu");
  found.strided = number(library, "layout_strided");
  found.float16 = number(library, "dtype_float16");
  found.bfloat16 = number(library, "dtype_bfloat16");
  found.float32 = number(library, "dtype_float32");
  found.float64 = number(library, "dtype_float64");

  auto& direct = found.direct;
  const bool is_complete = find(library, "_ZNK3c1010TensorImpl4gradEv", &direct.grad) &&
                           find(library, "_ZNK2at10TensorBase8_versionEv", &direct.version) &&
                           find(library, "_ZN2at6native6is_negERKNS_6TensorE", &direct.is_negated);
  if (!is_complete) direct = {};
  return found;
}

}  // namespace

const torch_functions& torch_functions::get() {
  // Python may switch threads during an import, which must not happen while C++ makes a static object.
  const auto path = nb::cast<std::string>(nb::module_::import_("torch._C").attr("__file__"));
  static const torch_functions found = find_all(path);
  return found;
}

}  // namespace syclamp::python
