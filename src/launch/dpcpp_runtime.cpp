// SPDX-License-Identifier: Apache-2.0
// Finds the CPU's OpenCL driver, so that a program runs in an empty environment.
//
// The driver lies beside libsycl. libsycl finds the OpenCL loader by its file name, and the loader finds the driver
// through an environment variable. Both happen at the first SYCL call. So a constructor prepares them when this library
// is loaded, before the program starts a thread. It changes nothing if the user has set the driver variables, or
// SYCLAMP_RUNTIME_SETUP=off.
#include "launch/dpcpp_runtime.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sycl/sycl.hpp>

namespace syclamp::launch {
namespace {

namespace fs = std::filesystem;

/// The file of libsycl, symbolic links followed; empty if unknown.
fs::path runtime_file() {
  Dl_info found{};
  const auto known = reinterpret_cast<const void*>(&sycl::platform::get_platforms);
  if (dladdr(known, &found) == 0 || found.dli_fname == nullptr) return {};
  std::error_code failed;
  const fs::path file = fs::canonical(found.dli_fname, failed);
  return failed ? fs::path{} : file;
}

std::vector<std::string> split(const char* list, char separator) {
  std::istringstream stream(list == nullptr ? "" : list);
  std::vector<std::string> parts;
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

/// True if a folder of LD_LIBRARY_PATH holds `library`: the user wants that one.
bool user_has(const char* library) {
  std::error_code failed;
  for (const std::string& folder : split(std::getenv("LD_LIBRARY_PATH"), ':'))
    if (fs::exists(fs::path(folder) / library, failed)) return true;
  return false;
}

/// The OpenCL loader comes last: it has no search path for the libraries that it needs.
constexpr const char* loader_and_its_needs[] = {"libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so",
                                                "libOpenCL.so.1"};

constexpr const char* driver_list = "OCL_ICD_FILENAMES";
constexpr const char* driver_folder = "OCL_ICD_VENDORS";
bool list_is_ours = false;  // set by this library, not by the user

bool is_switched_off() {
  const char* setup = std::getenv("SYCLAMP_RUNTIME_SETUP");
  return setup != nullptr && std::string_view(setup) == "off";
}

/// A process inherits the list that this library has set in its parent.
bool user_has_named_drivers(const fs::path& driver) {
  const char* list = std::getenv(driver_list);
  return (list != nullptr && list != driver) || std::getenv(driver_folder) != nullptr;
}

[[gnu::constructor]] void find_cpu_driver() {
  if (is_switched_off()) return;
  const fs::path folder = runtime_file().parent_path();
  std::error_code failed;
  const fs::path driver = folder / "libintelocl.so";
  if (user_has_named_drivers(driver) || !fs::exists(driver, failed)) return;
  list_is_ours = setenv(driver_list, driver.c_str(), /*overwrite=*/0) == 0;
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

/// The file of a loaded library whose name begins with `name`, symbolic links followed; empty if none is loaded.
fs::path loaded_library(std::string_view name) {
  struct search {
    std::string_view name;
    fs::path found;
  } wanted{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* data) {
        auto& sought = *static_cast<search*>(data);
        const fs::path file = library->dlpi_name;
        if (!file.filename().string().starts_with(sought.name)) return 0;
        std::error_code failed;
        sought.found = fs::canonical(file, failed);
        return 1;
      },
      &wanted);
  return wanted.found;
}

/// Describes the drivers in OCL_ICD_FILENAMES that cannot be loaded, if the user has set it.
std::string listed_drivers_problem() {
  const char* list = std::getenv(driver_list);
  if (list == nullptr || list_is_ours) return {};
  std::string problem = fmt::format("{} is \"{}\"", driver_list, list);
  for (const std::string& file : split(list, ':'))
    if (dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
      problem += fmt::format(", of which \"{}\" cannot be loaded ({})", file, dlerror());
  return problem +
         ": it must list the files of OpenCL drivers, separated by colons, and LD_LIBRARY_PATH must include the "
         "folders of the libraries that they need. Unset it to use the CPU driver beside libsycl";
}

}  // namespace

std::string missing_feature(const device_features& features) {
  if (!features.has_fp16)
    return "it does not support FP16 (the aspect fp16), which the kernels need to read FP16 gradients. Update its "
           "driver, "
           "or use another device";
  if (!features.has_device_memory)
    return "it has no USM device memory (the aspect usm_device_allocations), which the library works on. Update its "
           "driver, or use another device";
  if (!features.has_host_memory)
    return "it has no USM host memory (the aspect usm_host_allocations), through which the library sends tables. "
           "Update "
           "its driver, or use another device";
  return {};
}

std::string driver_obstacle(const sycl::device& device) {
  std::string missing = missing_feature({.has_fp16 = device.has(sycl::aspect::fp16),
                                         .has_device_memory = device.has(sycl::aspect::usm_device_allocations),
                                         .has_host_memory = device.has(sycl::aspect::usm_host_allocations)});
  if (!missing.empty()) return missing;
  if (!device.is_cpu() || device.get_backend() != sycl::backend::opencl) return {};
  const std::string driver = loaded_library("libintelocl.so").string();
  if (driver.find_first_of(" \t\n") == std::string::npos) return {};
  return fmt::format(
      "its driver is at \"{}\", and Intel's CPU driver does not work from a path with spaces; move the SYCL runtime to "
      "a path without spaces",
      driver);
}

std::string suspicious_environment() {
  std::vector<std::string> problems;
  if (const char* selector = std::getenv("ONEAPI_DEVICE_SELECTOR"))
    problems.push_back(
        fmt::format("ONEAPI_DEVICE_SELECTOR is \"{}\": check that it selects a device, or unset it", selector));
  if (const std::string problem = listed_drivers_problem(); !problem.empty()) problems.push_back(problem);
  if (const char* folder = std::getenv(driver_folder))
    problems.push_back(
        fmt::format("{} is \"{}\": it must be the folder with the .icd files of OpenCL drivers, and LD_LIBRARY_PATH "
                    "must include the folders of their libraries. Unset it to use the CPU driver beside libsycl",
                    driver_folder, folder));
  if (is_switched_off())
    problems.emplace_back("SYCLAMP_RUNTIME_SETUP is \"off\": unset it to use the CPU driver beside libsycl");
  return fmt::format("{}", fmt::join(problems, "; "));
}

std::string dpcpp_runtime_release() {
  std::error_code failed;  // not the file name, which differs between packages of the same release
  return fmt::format("libsycl of {} bytes", fs::file_size(runtime_file(), failed));
}

std::string dpcpp_runtime_version() {
  const fs::path file = runtime_file();
  return fmt::format("{}, {}", identity(file), identity(file.parent_path() / "libsycl-jit.so"));
}

}  // namespace syclamp::launch
