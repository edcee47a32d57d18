// SPDX-License-Identifier: Apache-2.0
// syclamp verify: whether the library computes correctly on this device, and how fast.
#include <algorithm>
#include <bit>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/commands/commands.hpp"
#include "apps/support/device_context.hpp"
#include "apps/support/progress_bar.hpp"
#include "apps/support/standard_streams.hpp"
#include "apps/verify/check.hpp"
#include "apps/verify/device_files.hpp"
#include "apps/verify/short_bench.hpp"
#include "support/printable.hpp"
#include "support/whole_file.hpp"

namespace syclamp::program {
namespace {

using json = nlohmann::ordered_json;
using verify::check_outcome;

struct options {
  std::string json_file;
  bool quick = false;
};

/// Everything that has run so far.
struct progress {
  progress_bar bar;
  std::size_t done = 0, all = 0;
  json checks = json::array();
  int passed = 0, failed = 0, skipped = 0;

  void show(const std::string& title) { bar.show(static_cast<double>(done) / static_cast<double>(all), title); }

  void print(const verify::check& check, const verify::check_result& result) {
    const bool is_bad = result.outcome == check_outcome::failed;
    (is_bad ? failed : result.outcome == check_outcome::skipped ? skipped : passed)++;
    bar.hide();
    fmt::print("{:<8} {:<44} {}\n", is_bad ? "FAILED" : to_string(result.outcome), check.name,
               printable(result.detail));
    if (is_bad) fmt::print("{:<8} {}\n", "", check.remedy);
    flush_output();
    checks.push_back({{"name", check.name},
                      {"result", to_string(result.outcome)},
                      {"detail", is_bad ? result.detail + ". " + check.remedy : result.detail}});
  }
};

/// Large enough to exceed the caches, and small enough for the device's memory.
std::uint64_t bench_elements(const sycl::device& device, bool quick) {
  constexpr std::uint64_t bytes_per_element = 64;  // AdamW in FP32, the arrays of the copy, and room to spare
  const std::uint64_t room = device.get_info<sycl::info::device::global_mem_size>() / bytes_per_element;
  const std::uint64_t wanted = std::uint64_t{1} << ((device.is_gpu() ? 26 : 23) - (quick ? 2 : 0));
  return std::min(wanted, std::bit_floor(std::max<std::uint64_t>(room, 1)));
}

std::vector<verify::bench_row> run_bench(const std::vector<verify::bench_task>& tasks, progress& progress) {
  std::vector<verify::bench_row> rows;
  for (const verify::bench_task& task : tasks) {
    const std::string name = fmt::format("bench {} {}", task.op, to_string(task.type));
    progress.show(name);
    try {
      rows.push_back(task.measure());
    } catch (const std::exception& failed) {
      progress.print({name, "Free memory of the device and run verify again.", {}},
                     {check_outcome::failed, failed.what()});
    }
    ++progress.done;
  }
  return rows;
}

/// Prints the rows and returns them, with the keys of `syclamp bench` and the copy as their reference. The best copy of
/// the whole run stands for the bandwidth of the device. The results themselves are not checked again, so `verified`
/// says whether all checks of the run have passed.
json print_bench(const std::vector<verify::bench_row>& rows, std::uint64_t elements, bool is_verified) {
  double copy_gbps = 0;
  for (const verify::bench_row& row : rows) copy_gbps = std::max(copy_gbps, row.copy_gbps);
  fmt::print("\n{} elements; a copy in device memory reaches {:.1f} GB/s\n", elements, copy_gbps);
  fmt::print("{:<18} {:<9} {:>8} {:>10}\n", "operation", "type", "GB/s", "% of copy");
  json results = json::array();
  for (const verify::bench_row& row : rows) {
    const double ratio = row.gbps / copy_gbps;
    fmt::print("{:<18} {:<9} {:>8.1f} {:>10.0f}\n", row.op, row.grad_type, row.gbps, 100 * ratio);
    results.push_back({{"op", row.op},
                       {"grad_type", row.grad_type},
                       {"elements", elements},
                       {"tensors", 1},
                       {"bytes_per_element", row.bytes_per_element},
                       {"seconds_median", row.seconds_median},
                       {"seconds_min", row.seconds_min},
                       {"gbps", row.gbps},
                       {"reference_gbps", copy_gbps},
                       {"ratio", ratio},
                       {"kernels", row.kernels},
                       {"checksum", nullptr},
                       {"verified", is_verified}});
  }
  return results;
}

/// GPUs that the system has and SYCL does not show.
std::vector<std::string> advice_of(const system_report& system) {
  const bool has_gpu = std::ranges::any_of(system.devices, [](const auto& device) { return device.kind == "gpu"; });
  if (has_gpu || !system.advice.empty()) return system.advice;
  return verify::advise_on_device_files(verify::gpu_device_files());
}

/// Why the device does not have the profile that matches it best; empty if it has.
std::string profile_note_of(const system_report& system, const sycl::device& device) {
  const auto found = std::ranges::find(system.devices, device, &device_report::device);
  return found != system.devices.end() ? found->profile_note : std::string();
}

void print_advice(const std::vector<std::string>& advice) {
  for (const std::string& line : advice) fmt::print("Note: {}.\n", line);
}

void run(const options& options) {
  if (!options.json_file.empty()) need_writable(options.json_file);
  const system_report system = describe_system();
  const auto advice = advice_of(system);
  fmt::print("syclamp {}, kernels {}, {}\n", system.version, system.kernel_mode, system.compiler);
  print_advice(advice);  // before the engine: if there is no device at all, this says what to install
  flush_output();
  const syclamp::engine engine;
  const sycl::device device = engine.queue().get_device();
  const auto name = device.get_info<sycl::info::device::name>();
  const auto driver = device.get_info<sycl::info::device::driver_version>();
  const std::string note = profile_note_of(system, device);
  fmt::print("{}, driver {}, profile {}\n", printable(name), printable(driver), engine.profile_name());
  if (!note.empty()) fmt::print("Note: {}.\n", note);
  fmt::print("\n");
  flush_output();

  const auto checks = verify::all_checks(engine, {.quick = options.quick});
  const std::uint64_t elements = bench_elements(device, options.quick);
  const auto tasks = verify::bench_tasks(engine, elements, options.quick ? 5 : 21);
  progress progress;
  progress.all = checks.size() + tasks.size();
  for (const verify::check& check : checks) {
    progress.show(check.name);
    progress.print(check, verify::run(check));
    ++progress.done;
  }
  const auto rows = run_bench(tasks, progress);
  progress.bar.hide();
  json context = context_of(engine, system);
  context["reference"] = "copy";
  const json bench = {{"context", context}, {"results", print_bench(rows, elements, progress.failed == 0)}};

  fmt::print("\n{} checks on {}: {} passed, {} failed, {} skipped\n", progress.checks.size(), printable(name),
             progress.passed, progress.failed, progress.skipped);
  print_advice(advice);  // once more, because the list of checks is long
  flush_output();
  const json report = {{"device", name},
                       {"driver", driver},
                       {"version", system.version},
                       {"profile", engine.profile_name()},
                       {"profile_note", note},
                       {"kernel_mode", system.kernel_mode},
                       {"compiler", system.compiler},
                       {"quick", options.quick},
                       {"checks", progress.checks},
                       {"bench", bench},
                       {"advice", advice}};
  if (!options.json_file.empty())
    write_output(options.json_file, report.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  if (progress.failed != 0)
    throw std::runtime_error(fmt::format("{} of {} checks failed on {}; each says above what to do", progress.failed,
                                         progress.checks.size(), name));
}

}  // namespace

void add_verify_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "verify", "Checks the library on this device against an oracle in double, and measures the main operations.");
  const auto given = std::make_shared<options>();
  command->add_option("--json", given->json_file, "Write the results to this file as JSON")->type_name("FILE");
  command->add_flag("--quick", given->quick, "Fewer sizes and optimizers, and only the device's own tuning profile");
  command->footer(
      "Exit code 0: every check passed or had nothing to check. 1: a check failed.\n"
      "ONEAPI_DEVICE_SELECTOR chooses the device (ACPP_VISIBILITY_MASK with AdaptiveCpp).\n"
      "The percentages compare bytes per second with a copy by the device's own driver.\n"
      "Please attach the JSON file to reports of problems. docs/devices.md has help for each vendor.");
  command->callback([given] { run(*given); });
}

}  // namespace syclamp::program
