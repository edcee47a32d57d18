// SPDX-License-Identifier: Apache-2.0
#include "matrix/module.hpp"

#include <dlfcn.h>

#include <filesystem>

#include <fmt/format.h>

#include "support/library_folders.hpp"

namespace SYCLAMP_NAMESPACE::matrix {

const module_functions* module_path::load() const {
  std::call_once(once_, [this] {
    const std::filesystem::path file = library_file(file_);
    void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed: the runtime keeps its kernels
    if (module == nullptr) {
      const char* why = dlerror();
      problem_ = fmt::format("{} cannot be loaded ({})", file_, why != nullptr ? why : "no reason given");
      return;
    }
    const auto* found = static_cast<const module_functions*>(dlsym(module, "syclamp_matrix_module"));
    if (found != nullptr && found->version == module_functions::current_version) {
      loaded_ = found;
    } else {
      problem_ = fmt::format("{} belongs to another version of syclamp", file_);
    }
  });
  return loaded_;
}

}  // namespace SYCLAMP_NAMESPACE::matrix
