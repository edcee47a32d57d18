// SPDX-License-Identifier: Apache-2.0
// Where the library's own files are: modules and kernels.
#pragma once

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// The folder of the file that this code is in, and the folder lib beside it. The second one is for programs in a
/// folder bin that have the library inside: static builds, and tests.
inline std::vector<std::filesystem::path> library_folders() {
  static const char here = 0;
  Dl_info found{};
  if (dladdr(&here, &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::weakly_canonical(found.dli_fname, failed).parent_path();
  return {folder, folder.parent_path() / "lib"};
}

/// A file of the library; where it should be, if there is none.
inline std::filesystem::path library_file(const std::filesystem::path& name) {
  const std::vector<std::filesystem::path> folders = library_folders();
  std::error_code failed;
  for (const std::filesystem::path& folder : folders)
    if (std::filesystem::exists(folder / name, failed)) return folder / name;
  return folders.empty() ? name : folders.front() / name;
}

}  // namespace SYCLAMP_NAMESPACE
