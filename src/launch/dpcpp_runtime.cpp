// SPDX-License-Identifier: Apache-2.0
// Finds the CPU's OpenCL driver, so that a program runs in an empty environment.
//
// The driver lies beside libsycl, but two others have to find it: the OpenCL loader, by its name alone, and through it
// the driver, by a list in an environment variable. Both look when the first SYCL call is made; hence the constructor,
// which runs when this library is loaded, before any thread of the program. What a user has set is left as it is.
#include "launch/dpcpp_runtime.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

namespace syclamp::launch {
namespace {

namespace fs = std::filesystem;

/// The file of libsycl, symbolic links followed; empty if it cannot be told.
fs::path runtime_file() {
  Dl_info found{};
  const auto known = reinterpret_cast<const void*>(&sycl::platform::get_platforms);
  if (dladdr(known, &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code failed;
  const fs::path file = fs::canonical(found.dli_fname, failed);
  return failed ? fs::path{} : file;
}

/// True if a folder of LD_LIBRARY_PATH holds `library`: then that one is meant.
bool user_has(const char* library) {
  const char* folders = std::getenv("LD_LIBRARY_PATH");
  std::istringstream list(folders == nullptr ? "" : folders);
  std::error_code failed;
  for (std::string folder; std::getline(list, folder, ':');)
    if (!folder.empty() && fs::exists(fs::path(folder) / library, failed)) return true;
  return false;
}

/// The OpenCL loader comes last: it does not say where the libraries are that it needs.
constexpr const char* loader_and_its_needs[] = {"libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so",
                                                "libOpenCL.so.1"};

[[gnu::constructor]] void find_cpu_driver() {
  const fs::path folder = runtime_file().parent_path();
  std::error_code failed;
  if (const fs::path driver = folder / "libintelocl.so"; fs::exists(driver, failed))
    setenv("OCL_ICD_FILENAMES", driver.c_str(), /*overwrite=*/0);
  // A library that is already in the process is the one that later calls get. Never closed: the runtime uses them.
  if (!user_has("libOpenCL.so.1"))
    for (const char* library : loader_and_its_needs) dlopen((folder / library).c_str(), RTLD_NOW | RTLD_GLOBAL);
}

/// Name, size and age of a file.
std::string identity(const fs::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0) return "unknown";
  return fmt::format("{} {} {}", file.filename().string(), status.st_size, status.st_mtime);
}

}  // namespace

std::string dpcpp_runtime_version() {
  const fs::path file = runtime_file();
  return fmt::format("{}, {}", identity(file), identity(file.parent_path() / "libsycl-jit.so"));
}

}  // namespace syclamp::launch
