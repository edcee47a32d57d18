// SPDX-License-Identifier: Apache-2.0
#include "syclamp/system_info.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/profiles.hpp"
#include "engine/device_facts.hpp"
#include "engine/device_fault.hpp"
#include "engine/device_list.hpp"
#include "engine/pci.hpp"
#include "engine/process_exit.hpp"
#include "engine/profile_choice.hpp"
#include "launch/kernel_library.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

namespace fs = std::filesystem;
namespace query = sycl::info::device;

device_report describe(const sycl::device& device) {
  device_report report{.device = device};
  report.name = device.get_info<query::name>();
  report.vendor = device.get_info<query::vendor>();
  report.driver = device.get_info<query::driver_version>();
  report.platform = device.get_platform().get_info<sycl::info::platform::name>();
  report.kind = device.is_cpu() ? "cpu" : device.is_gpu() ? "gpu" : "accelerator";
  report.compute_units = device.get_info<query::max_compute_units>();
  report.memory_bytes = device.get_info<query::global_mem_size>();
  report.has_fp64 = device.has(sycl::aspect::fp64);
  report.has_fp16 = device.has(sycl::aspect::fp16);
  report.problem = launch::obstacle(device);
  if (!report.problem.empty()) return report;
  try {
    const engine engine(sycl::queue{device, sycl::property::queue::in_order{}});
    report.profile = engine.profile_name();
    report.profile_note = profile_for(device, {}).note;
    report.arithmetic = test_arithmetic(engine);
    report.usable = report.arithmetic.sound();
    if (!report.usable)
      report.problem = "its floating-point arithmetic is not strict; `syclamp info` shows the failed self-tests";
  } catch (const std::exception& failed) {
    report.problem = failed.what();
  }
  return report;
}

/// Advice for GPUs on the PCI bus for which there is no SYCL device.
std::vector<std::string> advise(const std::vector<sycl::device>& devices) {
  struct maker {
    std::uint32_t vendor;
    const char* text;
  };
  constexpr maker makers[] = {
      {backends::nvidia_vendor,
       "the machine has an NVIDIA GPU, but no SYCL adapter for it is loaded. The wheels of ./run setup reach CPUs and "
       "Intel GPUs only: install DPC++ with the CUDA plugin (CMake preset cuda) or AdaptiveCpp with its CUDA backend "
       "(aot-acpp), set SYCLAMP_SYCL_ROOT to its folder and build again; docs/devices.md has the commands"},
      {backends::amd_vendor,
       "the machine has an AMD GPU, but no SYCL adapter for it is loaded. The wheels of ./run setup reach CPUs and "
       "Intel GPUs only: install DPC++ with the HIP plugin (CMake preset hip) or AdaptiveCpp with its HIP backend "
       "(aot-acpp), set SYCLAMP_SYCL_ROOT to its folder and build again; docs/devices.md has the commands"},
      {backends::intel_vendor,
       "the machine has an Intel GPU, but it is not a SYCL device: install its Level Zero driver (packages libze1 and "
       "intel-level-zero-gpu or libze-intel-gpu1) and check that you may open /dev/dri/renderD*"},
  };
  const auto vendors = gpu_vendors_on_bus();
  std::vector<std::string> advice;
  for (const maker& vendor : makers) {
    const bool on_bus = std::ranges::find(vendors, vendor.vendor) != vendors.end();
    const bool in_sycl = std::ranges::any_of(devices, [&](const sycl::device& device) {
      const auto facts = facts_of(device);
      return facts.is_gpu && facts.vendor_id == vendor.vendor;
    });
    if (on_bus && !in_sycl) advice.emplace_back(vendor.text);
  }
  return advice;
}

}  // namespace

const char* library_version() noexcept { return SYCLAMP_VERSION; }

profile_report describe_profile(std::string_view name) {
  const profile* found = backends::find(name);
  if (found == nullptr)
    throw invalid_argument(
        fmt::format("the profile \"{}\" does not exist; choose one of {}", name, fmt::join(profile_names(), ", ")));
  profile_report report{.name = std::string(name), .classes = {}};
  for_each_class(*found, [&](std::string_view class_name, const auto& tuning) {
    auto& numbers = report.classes.emplace_back(std::string(class_name)).numbers;
    for (const tuning_number& number : numbers_of(tuning)) numbers.push_back({std::string(number.name), number.value});
  });
  return report;
}

system_report describe_system() {
  need_runtime();
  system_report report;
  report.version = library_version();
  report.kernel_mode = launch::mode();
  report.compiler = launch::compiler();
  translated("describe_system", [&] {
    const auto devices = list_devices();
    for (const sycl::device& device : devices) report.devices.push_back(describe(device));
    report.advice = advise(devices);
  });
  report.cache = launch::cache_folder();
  std::error_code failed;
  if (!report.cache.empty())
    for (const auto& file : fs::directory_iterator(report.cache, failed)) {
      const auto size = file.file_size(failed);
      if (failed || file.path().extension() != ".kernels") continue;
      ++report.cache_files;
      report.cache_bytes += size;
    }
  return report;
}

}  // namespace SYCLAMP_NAMESPACE
