// SPDX-License-Identifier: Apache-2.0
// syclamp simulate: applies a policy to a sequence of clean and overflowing steps, or to a recorded run.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "apps/commands/commands.hpp"
#include "apps/commands/policy_options.hpp"
#include "apps/commands/preset_table.hpp"
#include "apps/support/trace_replay.hpp"
#include "support/whole_file.hpp"
#include "syclamp/syclamp.hpp"

namespace syclamp::program {
namespace {

using json = nlohmann::ordered_json;

struct options {
  std::string preset = "syclamp";
  policy_options numbers;
  std::string trace, ledger_file;
  bool on_host = false, as_json = false, lists_presets = false;
};

// Limits of input files: parsed input takes many times its size in memory.
constexpr std::size_t longest_trace = std::size_t{1} << 20, longest_ledger = std::size_t{256} << 20;

/// JSON has no Inf or NaN, so they become null. FP32 round-trips through double.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json json_of(const std::string& preset, const std::vector<simulated_result>& results) {
  json before = json::array(), after = json::array(), applied = json::array(), status = json::array(),
       outcome = json::array();
  for (const simulated_result& result : results) {
    before.push_back(number(result.scale_before));
    after.push_back(number(result.scale_after));
    applied.push_back(result.outcome == step_outcome::applied);
    status.push_back(to_string(result.status));
    outcome.push_back(to_string(result.outcome));
  }
  return {{"preset", preset},   {"scale_before", before}, {"scale_after", after},
          {"applied", applied}, {"status", status},       {"outcome", outcome}};
}

/// Prints consecutive equal steps that do not change the scale as one line.
void print_table(const std::vector<simulated_result>& results) {
  fmt::print("{:>14}  {:<14} {:<16} {:>16} {:>16}\n", "steps", "outcome", "status", "scale before", "after");
  for (std::size_t first = 0; first < results.size();) {
    const simulated_result& result = results[first];
    const auto is_like_it = [&](const simulated_result& next) {
      return result.scale_before == result.scale_after && next.outcome == result.outcome &&
             next.status == result.status && next.scale_before == result.scale_before &&
             next.scale_after == result.scale_after;
    };
    std::size_t last = first;
    while (last + 1 < results.size() && is_like_it(results[last + 1])) ++last;
    const std::string steps = first == last ? fmt::format("{}", first + 1) : fmt::format("{}-{}", first + 1, last + 1);
    fmt::print("{:>14}  {:<14} {:<16} {:>16} {:>16}\n", steps, to_string(result.outcome), to_string(result.status),
               static_cast<double>(result.scale_before), static_cast<double>(result.scale_after));
    first = last + 1;
  }
  const auto skips =
      std::ranges::count_if(results, [](const auto& entry) { return entry.outcome != step_outcome::applied; });
  fmt::print("{} steps, {} skipped\n", results.size(), skips);
}

void replay_ledger(const options& options, const scaling_policy& policy) {
  std::vector<ledger_entry> ledger;
  try {
    ledger = read_ledger(read_whole_file(options.ledger_file, longest_ledger));
  } catch (const invalid_argument& wrong) {
    throw std::runtime_error(fmt::format("{}: {}", options.ledger_file, wrong.what()));
  }
  const replay_report report = replay_ledger(ledger, policy);
  if (options.as_json) {
    json all = json_of(options.preset, report.results);
    all["steps"] = report.steps;
    all["skips"] = report.skips;
    all["recorded_skips"] = report.recorded_skips;
    all["zero_share"] = report.zero_share;
    all["subnormal_share"] = report.subnormal_share;
    all["final_scale"] = number(report.final_scale);
    all["max_safe_scale"] = number(report.max_safe_scale);
    fmt::print("{}\n", all.dump(2));
    return;
  }
  print_table(report.results);
  fmt::print("recorded: {} steps, {} skipped; {:.2f} % of the gradients were zero, {:.2f} % subnormal\n", report.steps,
             report.recorded_skips, 100 * report.zero_share, 100 * report.subnormal_share);
  fmt::print("with {}: {} skipped, final scale {}\n", options.preset, report.skips, report.final_scale);
  fmt::print("largest static scale without an overflow on any recorded finite step: {}\n", report.max_safe_scale);
}

void run(const options& options) {
  scaling_policy policy;
  std::vector<simulated_step> steps;
  try {
    policy = policy_of(options.preset, options.numbers);
    if (options.ledger_file.empty())
      steps = read_trace(options.trace.starts_with('@') ? read_whole_file(options.trace.substr(1), longest_trace)
                                                        : options.trace);
  } catch (const invalid_argument& wrong) {
    throw CLI::ValidationError("simulate", wrong.what());
  }
  if (!options.ledger_file.empty()) return replay_ledger(options, policy);
  const auto results = options.on_host ? replay_on_host(policy, steps) : replay_on_device(engine(), policy, steps);
  if (options.as_json) {
    fmt::print("{}\n", json_of(options.preset, results).dump(2));
  } else {
    print_table(results);
  }
}

void list_presets(bool as_json) { fmt::print("{}", as_json ? preset_list().dump(2) + "\n" : preset_tables()); }

std::string described_presets() {
  std::string text = "Presets:\n";
  for (const preset_info& preset : scaling_presets()) {
    text += fmt::format("  {:<22} {}\n", preset.name, preset.framework);
    if (!preset.note.empty()) text += fmt::format("  {:<22}   {}\n", "", preset.note);
  }
  return text;
}

}  // namespace

void add_simulate_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand("simulate",
                                             "Shows how a scaling policy moves its scale over a sequence of clean and "
                                             "overflowing steps, or over a recorded run.");
  const auto given = std::make_shared<options>();
  std::vector<std::string> names;
  for (const preset_info& preset : scaling_presets()) names.push_back(preset.name);
  command->add_option("--preset", given->preset, "Policy to simulate: one of the presets below")
      ->check(CLI::IsMember(names).description(""))
      ->type_name("NAME")
      ->capture_default_str();
  add_policy_options(*command, given->numbers);
  auto* trace =
      command
          ->add_option("--trace", given->trace,
                       "The steps, one letter each: . clean, i Inf, n NaN. @FILE reads them from a file of up to 1 MiB")
          ->type_name("STEPS");
  auto* ledger =
      command
          ->add_option(
              "--ledger", given->ledger_file,
              "Apply the policy to a recorded ledger instead: CSV or JSON lines, up to 256 MiB and 4194304 steps")
          ->type_name("FILE");
  trace->excludes(ledger);
  auto* list =
      command->add_flag("--list", given->lists_presets,
                        "List all presets with their numbers instead, as Markdown tables, or as JSON with --json");
  list->excludes(trace)->excludes(ledger);
  auto* where = command
                    ->add_option_function<std::string>(
                        "--where", [given](const std::string& where) { given->on_host = where == "host"; },
                        "device: run the real kernels; host: apply the same rules on the host, without a device")
                    ->check(CLI::IsMember({"device", "host"}))
                    ->default_str("device");
  where->excludes(ledger);
  command->add_flag("--json", given->as_json, "Print JSON: arrays with one entry per step");
  command->footer(
      "Examples:\n"
      "  syclamp simulate --preset megatron --interval 4 --trace ....i.ii....\n"
      "  syclamp simulate --preset syclamp --ledger ledger.csv\n\n" +
      described_presets());
  command->callback([given, command] {
    if (given->lists_presets) return list_presets(given->as_json);
    if (command->count("--trace") + command->count("--ledger") == 0)
      throw CLI::RequiredError("simulate: one of --trace, --ledger or --list");
    run(*given);
  });
}

}  // namespace syclamp::program
