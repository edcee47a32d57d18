// SPDX-License-Identifier: Apache-2.0
#include "apps/verify/device_files.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

namespace syclamp::verify {
namespace {

namespace fs = std::filesystem;

constexpr const char *nvidia = "/dev/nvidia0", *amd = "/dev/kfd";

}  // namespace

std::vector<std::string> gpu_device_files() {
  std::vector<std::string> files;
  std::error_code failed;
  for (const char* file : {nvidia, amd})
    if (fs::exists(file, failed)) files.emplace_back(file);
  for (fs::directory_iterator entry("/dev/dri", failed), end; !failed && entry != end; entry.increment(failed))
    if (entry->path().filename().string().starts_with("renderD")) files.push_back(entry->path().string());
  return files;
}

std::vector<std::string> advise_on_device_files(const std::vector<std::string>& files) {
  std::vector<std::string> advice;
  bool has_other_driver = false;
  for (const std::string& file : files) {
    const char* backend = file == nvidia ? "CUDA" : file == amd ? "HIP" : nullptr;
    if (backend == nullptr) continue;
    has_other_driver = true;
    advice.push_back(
        fmt::format("{} exists, but SYCL shows no GPU. Install a SYCL with a {} backend, set SYCLAMP_SYCL_ROOT to its "
                    "folder and build syclamp with it (docs/devices.md)",
                    file, backend));
  }
  const auto render = std::ranges::find_if(files, [](const auto& file) { return file.starts_with("/dev/dri/"); });
  if (render != files.end() && !has_other_driver)  // NVIDIA and AMD drivers make these files, too
    advice.push_back(
        fmt::format("{} exists, but SYCL shows no GPU. If the GPU is Intel's, install its Level Zero driver and see "
                    "that you may open the file (docs/devices.md)",
                    *render));
  return advice;
}

}  // namespace syclamp::verify
