// SPDX-License-Identifier: Apache-2.0
#include "matrix/module.hpp"

#include <dlfcn.h>

#include <filesystem>

#include <fmt/format.h>

namespace syclamp::matrix {
namespace {

namespace fs = std::filesystem;

/// The folder of the file that this code is in.
fs::path own_folder() {
  Dl_info found{};
  const auto here = reinterpret_cast<const void*>(&own_folder);
  if (dladdr(here, &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code failed;
  return fs::weakly_canonical(found.dli_fname, failed).parent_path();
}

}  // namespace

const module_functions* module_path::load() const {
  std::call_once(once_, [this] {
    const fs::path file = own_folder() / file_;
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
      problem_ = fmt::format("{} is not of this version of syclamp", file_);
    }
  });
  return loaded_;
}

}  // namespace syclamp::matrix
