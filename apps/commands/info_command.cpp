// SPDX-License-Identifier: Apache-2.0
// syclamp info: the devices of this machine, and whether their arithmetic is strict.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/commands/commands.hpp"
#include "support/printable.hpp"
#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"

namespace syclamp::program {
namespace {

/// Paths of gemm on the device, the preferred path first. Empty if no engine can be made for the device.
std::vector<matrix::gemm_path_report> gemm_paths_of(const device_report& device) {
  if (device.profile.empty()) return {};
  return matrix::gemm_paths(engine(sycl::queue{device.device, sycl::property::queue::in_order{}}));
}

nlohmann::ordered_json json_of(const device_report& device) {
  nlohmann::ordered_json tests;
  for (const auto& check : device.arithmetic.checks) tests[check.name] = check.passed;
  nlohmann::ordered_json paths = nlohmann::ordered_json::array();
  for (const auto& path : gemm_paths_of(device))
    paths.push_back({{"name", path.name}, {"usable", path.usable}, {"note", path.note}});
  return {{"name", device.name},
          {"vendor", device.vendor},
          {"driver", device.driver},
          {"platform", device.platform},
          {"kind", device.kind},
          {"profile", device.profile},
          {"profile_note", device.profile_note},
          {"compute_units", device.compute_units},
          {"memory_bytes", device.memory_bytes},
          {"fp64", device.has_fp64},
          {"fp16", device.has_fp16},
          {"usable", device.usable},
          {"problem", device.problem},
          {"self_test", tests},
          {"gemm_paths", paths}};
}

void print_json(const system_report& report) {
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const auto& device : report.devices) devices.push_back(json_of(device));
  const nlohmann::ordered_json all = {
      {"version", report.version},
      {"kernel_mode", report.kernel_mode},
      {"compiler", report.compiler},
      {"cache", {{"folder", report.cache}, {"files", report.cache_files}, {"bytes", report.cache_bytes}}},
      {"devices", devices},
      {"advice", report.advice}};
  fmt::print("{}\n", all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const system_report& report) {
  fmt::print("syclamp {}\n", report.version);
  fmt::print("  kernels      {}, {}\n", report.kernel_mode, report.compiler);
  if (report.cache.empty()) {
    fmt::print("  cache        none\n");
  } else {
    fmt::print("  cache        {} ({} files, {:.1f} KiB)\n", printable(report.cache), report.cache_files,
               static_cast<double>(report.cache_bytes) / 1024.0);
  }
  for (const auto& device : report.devices) {
    fmt::print("\n{} ({}, {})\n", device.name, device.kind, device.platform);
    fmt::print("  driver       {}\n", device.driver);
    fmt::print("  units        {}, {:.1f} GiB of memory\n", device.compute_units,
               static_cast<double>(device.memory_bytes) / (1u << 30));
    fmt::print("  types        FP16 {}, FP64 {} (not needed)\n", device.has_fp16 ? "yes" : "no",
               device.has_fp64 ? "yes" : "no");
    if (!device.profile.empty()) {
      fmt::print("  profile      {}\n", device.profile);
      if (!device.profile_note.empty()) fmt::print("               {}\n", device.profile_note);
      fmt::print("  arithmetic   {}\n", device.arithmetic.sound() ? "strict: every self-test passed" : "NOT STRICT");
      for (const auto& check : device.arithmetic.checks)
        if (!check.relied_upon || !check.passed) fmt::print("    {:<20} {}\n", check.name, check.passed ? "yes" : "NO");
    }
    const auto paths = gemm_paths_of(device);
    for (const auto& path : paths)
      fmt::print("  {:<12} {:<13}{}{}\n", &path == paths.data() ? "matrices" : "", path.name,
                 path.usable ? "" : "no: ", path.note);
    if (!device.problem.empty()) fmt::print("  NOT USABLE   {}\n", printable(device.problem));
  }
  for (const auto& line : report.advice) fmt::print("\nNote: {}.\n", line);
}

void print_profile(const profile_report& profile, bool as_json) {
  nlohmann::ordered_json classes;
  for (const auto& tuned : profile.classes) {
    if (!as_json) fmt::print("{}\n", tuned.name);
    for (const auto& number : tuned.numbers) {
      classes[tuned.name][number.name] = number.value;
      if (!as_json) fmt::print("  {:<18} {}\n", number.name, number.value);
    }
  }
  if (as_json) fmt::print("{}\n", nlohmann::ordered_json{{"profile", profile.name}, {"classes", classes}}.dump(2));
}

}  // namespace

void add_info_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "info", "Lists devices, drivers, tuning profiles and the kernel cache, and tests the arithmetic of each device.");
  auto as_json = std::make_shared<bool>(false);
  command->add_flag("--json", *as_json, "Print JSON instead of text");
  auto profile = std::make_shared<std::string>();
  CLI::Option* asks_for_profile =
      command
          ->add_option("--profile", *profile,
                       fmt::format("Print the numbers of a tuning profile instead: {}. Without a name: the profile of "
                                   "the default device",
                                   fmt::join(profile_names(), ", ")))
          ->check([](const std::string& name) -> std::string {
            const auto names = profile_names();
            if (name.empty() || std::ranges::find(names, name) != names.end()) return {};
            return fmt::format("the profile {} does not exist; choose one of {}", name, fmt::join(names, ", "));
          })
          ->type_name("[NAME]")
          ->expected(0, 1);
  command->footer(
      "Example: syclamp info --json\n\n"
      "Environment variables:\n"
      "  SYCLAMP_PROFILE=NAME         use this tuning profile (default: by device)\n"
      "  SYCLAMP_GEMM=NAME            use this path of gemm (default: by device and matrix)\n"
      "  ONEAPI_DEVICE_SELECTOR=...   limit the devices that SYCL reports (a variable of DPC++)\n"
      "  SYCLAMP_CACHE=off            do not keep compiled kernels\n"
      "  SYCLAMP_CACHE_DIR=FOLDER     folder for compiled kernels (default: ~/.cache/syclamp)\n"
      "  SYCLAMP_CACHE_SIZE=MIB       size limit of that folder in MiB (default: 1024; 0: no limit)\n\n"
      "Exit code 1 if no device can be used.");
  command->callback([as_json, profile, asks_for_profile] {
    if (asks_for_profile->count() != 0) {
      print_profile(describe_profile(profile->empty() ? engine().profile_name() : *profile), *as_json);
      return;
    }
    const system_report report = describe_system();
    *as_json ? print_json(report) : print_text(report);
    if (std::ranges::none_of(report.devices, &device_report::usable)) {
      const engine none;  // throws and says what to install if there is no device at all
      throw no_device_error("no device can be used; see the problems listed above");
    }
  });
}

}  // namespace syclamp::program
