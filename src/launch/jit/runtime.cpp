// SPDX-License-Identifier: Apache-2.0
// Finds the CPU's OpenCL driver, so that a program runs in an empty environment.
//
// The driver lies beside libsycl, but two others have to find it: the OpenCL loader, by its name alone, and through it
// the driver, by a list in an environment variable. Both look when the first SYCL call is made; hence the constructor,
// which runs when this library is loaded, before any thread of the program. What a user has set is left as it is.
#include "launch/jit/runtime.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <sycl/sycl.hpp>

namespace syclamp::launch::jit {
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

/// The OpenCL loader comes last: it does not say where the libraries are that it needs.
constexpr const char* loader_and_its_needs[] = {"libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so",
                                                "libOpenCL.so.1"};

[[gnu::constructor]] void find_cpu_driver() {
  const fs::path folder = runtime_file().parent_path();
  std::error_code failed;
  if (const fs::path driver = folder / "libintelocl.so"; fs::exists(driver, failed))
    setenv("OCL_ICD_FILENAMES", driver.c_str(), /*overwrite=*/0);
  // A library that is already in the process is the one that later calls get. Never closed: the runtime uses them.
  const bool user_has_a_path = std::getenv("LD_LIBRARY_PATH") != nullptr;
  if (user_has_a_path && dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  for (const char* library : loader_and_its_needs) dlopen((folder / library).c_str(), RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace

std::string runtime_version() {
  const fs::path file = runtime_file();
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  return failed ? "unknown" : fmt::format("{}, {} bytes", file.filename().string(), size);
}

}  // namespace syclamp::launch::jit
