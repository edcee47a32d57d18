// SPDX-License-Identifier: Apache-2.0
// syclamp bench: measures operations against native loops that move the same bytes, alternated in the same run.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/commands/commands.hpp"
#include "apps/support/device_context.hpp"
#include "apps/support/help_text.hpp"
#include "apps/support/standard_streams.hpp"
#include "bench/bench.hpp"
#include "bench/costs.hpp"
#include "bench/start_up.hpp"
#include "support/whole_file.hpp"

namespace syclamp::program {
namespace {

using json = nlohmann::ordered_json;

struct options {
  int log2_size = 25;
  std::uint64_t tensors = 1;
  std::vector<std::string> ops;
  std::string json_file, csv_file;
  bool first_operation = false, first_step = false;
};

json json_of(const bench::start_up_times& start_up) {
  return {{"cold_first_operation_seconds", start_up.first_operation.cold},
          {"warm_first_operation_seconds", start_up.first_operation.warm},
          {"cold_first_step_seconds", start_up.first_step.cold},
          {"warm_first_step_seconds", start_up.first_step.warm},
          {"cold_info_seconds", start_up.info.cold},
          {"warm_info_seconds", start_up.info.warm}};
}

json json_of(const bench::result& row) {
  return {{"op", row.op},
          {"grad_type", row.grad_type},
          {"elements", row.elements},
          {"tensors", row.tensors},
          {"bytes_per_element", row.bytes_per_element},
          {"seconds_median", row.seconds_median},
          {"seconds_min", row.seconds_min},
          {"gbps", row.gbps},
          {"reference_gbps", row.reference_gbps},
          {"ratio", row.ratio},
          {"kernels", row.kernels},
          {"checksum", row.checksum},
          {"verified", row.verified}};
}

json json_of(const bench::cost_row& row, const bench::cost& found) {
  return {{"name", row.name},
          {"compares", row.compares},
          {"seconds", found.seconds},
          {"reference_seconds", found.reference_seconds},
          {"ratio", found.seconds / found.reference_seconds},
          {"verified", found.verified}};
}

std::string csv_of(const json& results) {
  std::string text;
  for (const auto& row : results) {
    std::vector<std::string> names, values;
    for (const auto& [name, value] : row.items()) {
      names.push_back(name);
      values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    if (text.empty()) text += fmt::format("{}\n", fmt::join(names, ","));
    text += fmt::format("{}\n", fmt::join(values, ","));
  }
  return text;
}

/// OpenMP's threads spin between two native loops and would take the cores from the next operation. OMP_WAIT_POLICY
/// prevents that, but is read when the process starts, so the process executes itself again.
void let_openmp_threads_sleep() {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
}

bool is_asked_for(const options& options, std::string_view name) {
  return options.ops.empty() || std::ranges::find(options.ops, name) != options.ops.end();
}

json run_costs(const options& options, const engine& engine, const bench::settings& settings, bool& all_verified) {
  json costs = json::array();
  for (const auto& row : bench::costs()) {
    if (!is_asked_for(options, row.name)) continue;
    const auto found = row.measure(engine, settings);
    if (!found) continue;
    if (costs.empty()) fmt::print("\n{:<18} {:>12} {:>12} {:>6}\n", "cost", "us", "reference us", "ratio");
    fmt::print("{:<18} {:>12.1f} {:>12.1f} {:>6.3f}{}\n", row.name, 1e6 * found->seconds,
               1e6 * found->reference_seconds, found->seconds / found->reference_seconds,
               found->verified ? "" : "  WRONG RESULT");
    flush_output();
    costs.push_back(json_of(row, *found));
    all_verified &= found->verified;
  }
  return costs;
}

void run(const options& options) {
  if (options.first_operation) return bench::first_operation();
  if (options.first_step) return bench::first_step();
  for (const std::string& file : {options.json_file, options.csv_file})
    if (!file.empty()) need_writable(file);
  let_openmp_threads_sleep();
  const auto start_up = bench::measure_start_up(std::filesystem::read_symlink("/proc/self/exe"));
  const syclamp::engine engine;
  const bench::settings settings{.elements = std::uint64_t{1} << options.log2_size, .tensors = options.tensors};
  fmt::print("{}, profile {}\n", engine.queue().get_device().get_info<sycl::info::device::name>(),
             engine.profile_name());
  fmt::print("{:<34} {:>18} {:>17}\n", "start-up time of a process, seconds", "nothing cached", "kernels cached");
  for (const auto& [name, time] :
       {std::pair{"first inspect", start_up.first_operation}, std::pair{"first step of AdamW", start_up.first_step},
        std::pair{"syclamp info", start_up.info}})
    fmt::print("{:<34} {:>18.2f} {:>17.2f}\n", name, time.cold, time.warm);
  fmt::print("\n");
  fmt::print("{:<18} {:<9} {:>12} {:>8} {:>8} {:>8} {:>9} {:>6} {:>8}\n", "operation", "type", "elements", "tensors",
             "B/elem", "GB/s", "reference", "ratio", "kernels");
  json results = json::array();
  bool all_verified = true;
  for (const auto& [name, operation] : bench::operations()) {
    if (!is_asked_for(options, name)) continue;
    for (const element_type type : training_types) {
      const bench::result row = operation(engine, type, settings);
      fmt::print("{:<18} {:<9} {:>12} {:>8} {:>8.2f} {:>8.2f} {:>9.2f} {:>6.3f} {:>8}{}\n", row.op, row.grad_type,
                 row.elements, row.tensors, row.bytes_per_element, row.gbps, row.reference_gbps, row.ratio, row.kernels,
                 row.verified ? "" : "  WRONG RESULT");
      flush_output();
      results.push_back(json_of(row));
      all_verified &= row.verified;
    }
  }
  const json costs = run_costs(options, engine, settings, all_verified);
  if (!options.json_file.empty()) {
    json context = context_of(engine, describe_system());
    context["start_up"] = json_of(start_up);
    write_output(options.json_file, json{{"context", context}, {"results", results}, {"costs", costs}}.dump(2) + "\n");
  }
  if (!options.csv_file.empty()) write_output(options.csv_file, csv_of(results));
  if (!all_verified) throw std::runtime_error("an operation gave a wrong result; see the rows marked WRONG RESULT");
}

}  // namespace

void add_bench_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "bench", "Measures the speed of operations. Each is alternated with a native loop that moves the same bytes.");
  const auto given = std::make_shared<options>();
  std::vector<std::string> names;
  for (const auto& [name, operation] : bench::operations()) names.push_back(name);
  const std::string listed = wrapped(names);
  std::string described;
  for (const auto& row : bench::costs()) {
    names.push_back(row.name);
    described += fmt::format("\n  {:<18} {}", row.name, row.compares);
  }
  command->add_option("--log2-size", given->log2_size, "Total number of elements over all tensors, as a power of two")
      ->check(CLI::Range(10, 34))
      ->capture_default_str();
  command->add_option("--tensors", given->tensors, "Number of tensors that the elements are divided into")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  command->add_option("--op", given->ops, "Operation or cost to measure, see below; may be repeated. Default: all")
      ->type_name("NAME")
      ->check(CLI::IsMember(names).description(""));
  command->add_option("--json", given->json_file, "Write the results to this file as JSON")->type_name("FILE");
  command->add_option("--csv", given->csv_file, "Write the results to this file as CSV")->type_name("FILE");
  // Hidden flags for the processes that measure_start_up starts.
  command->add_flag("--first-operation", given->first_operation)->group("");
  command->add_flag("--first-step", given->first_step)->group("");
  command->footer(
      "Example: syclamp bench --log2-size 25 --tensors 64 --op adamw_step_clip --json bench.json\n\n"
      "First, the start-up time of a new process, with and without cached kernels.\n"
      "Then one row per operation and gradient type. GB/s counts the bytes that the operation must move. The\n"
      "reference is a native loop (AVX2 and OpenMP on x86) that moves the same bytes; ratio = GB/s / reference.\n"
      "Then costs, which are ratios of two median times with FP16 gradients. In JSON, costs are in `costs`.\n\n"
      "Operations:\n" +
      listed + "\n\nCosts:" + described);
  command->callback([given] { run(*given); });
}

}  // namespace syclamp::program
