// SPDX-License-Identifier: Apache-2.0
#include "apps/commands/train_options.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace syclamp::program {
namespace {

using training::run_settings;
using training::task;

nn::precision_policy formats_of(const std::string& precision) {
  return nn::precision_preset(precision == "fp32"   ? "float32"
                              : precision == "fp16" ? "mixed_float16"
                                                    : "mixed_bfloat16");
}

scaling_policy fixed_at(double scale) {
  scaling_policy policy{.mode = scaling_mode::fixed, .init_scale = scale};
  policy.power_of_two = false;
  policy.min = std::min(policy.min, scale);
  policy.max = std::max(policy.max, scale);
  policy.validate();
  return policy;
}

/// none, static, static:S, dynamic, or a preset.
scaling_policy scaling_named(const std::string& name, const policy_options& numbers) {
  if (name == "none") return {.mode = scaling_mode::disabled};
  if (name == "static") return fixed_at(static_scale);
  if (const std::string prefix = "static:"; name.starts_with(prefix)) {
    double scale = 0.0;
    if (!CLI::detail::lexical_cast(name.substr(prefix.size()), scale))
      throw invalid_argument(fmt::format("\"{}\": {} is no number", name, name.substr(prefix.size())));
    return fixed_at(scale);
  }
  return policy_of(name == "dynamic" ? "syclamp" : name, numbers);
}

bool is_preset(const std::string& scaling) {
  return scaling != "none" && scaling != "static" && !scaling.starts_with("static:");
}

/// --data, else the folder SYCLAMP_DATA, else the folder of set-up.
std::filesystem::path digits_file(const train_options& options) {
  if (!options.data_file.empty()) return options.data_file;
  const char* folder = std::getenv("SYCLAMP_DATA");
  return std::filesystem::path(folder != nullptr && *folder != '\0' ? folder : SYCLAMP_DATA_FOLDER) / "digits.csv";
}

/// As a POSIX shell reads it.
std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("@%+=:,./-_").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\"'\"'";
    } else {
      text += c;
    }
  }
  return text + "'";
}

std::string explanation() {
  std::vector<std::string> names;
  for (const preset_info& preset : scaling_presets()) names.push_back(preset.name);
  return fmt::format(
      R"(Tasks:
  field    A surrogate for a simulation: 8 parameters in, a damped spherical wave at 16 x 16 x 16 points out. Four
           batches of 4096 samples. The loss is the mean over all points, so the gradient of an output is about
           1e-7 of its error, where FP16 ends: without loss scaling it is lost.
  digits   Handwritten digits of 8 x 8 pixels (the 1797 that scikit-learn carries, the last 360 held out). Looked for
           in --data FILE, $SYCLAMP_DATA/digits.csv, and where ./run setup has put it.

Precision: weights are FP32 in any case; fp16 and bf16 are the formats of the copy that computes, of activations and of
gradients. Sums of products, softmax and losses are FP32.

Scaling: none; static or static:S, a fixed scale, {0} by default; dynamic, which is the preset syclamp; or a preset:
{1}.
Options --init to --hysteresis change the numbers of a preset.

What is told of a run:
  held-out loss       on samples that are not learnt from, after the last step; a run that has diverged has none
  gradients that are 0   share of stored gradients, of the output and of all weights, that are exactly zero: the mean
                      over the last steps of all epochs. The JSON has the weights alone, too.
  steps skipped       because a gradient was not finite
  scaling's share     time of inspecting gradients and moving the scale, of the whole step; medians by the device's
                      clock. Without scaling nothing is inspected, and it is 0.

JSON: {{task, command, seed, epochs, steps, batch, parameters, device, version, interrupted, …, runs: [{{name, loss,
accuracy, zero_share, zero_share_weights, skips, final_scale, seconds, scaling_share, loss_curve, …}}]}}; a list of such
objects for several tasks. What is not finite or not known is null. Curves have a point for each step or epoch; those of
more than {2} points, and `skipped_steps`, have every second one, every fourth, and so on, and the last. `skips` and all
other numbers are of all steps.

The page of --report is made by the Python of ./run setup, or by $SYCLAMP_PYTHON, with what setup/report.lock lists.

Ctrl-C and SIGTERM end training with what there is: results and the checkpoint are written. Exit code 130 or 143.
--json, --report and --checkpoint replace files at once. They follow links of yours and of root, but of nobody else.

Examples:
  syclamp train --compare                                   why loss scaling is needed
  syclamp train --task digits --precision bf16 --scaling none
  syclamp train --compare --init 16777216 --max 4294967296 --interval 50     one sees skips and growth
  syclamp train --epochs 10 --checkpoint a.ckpt, and then
  syclamp train --epochs 20 --checkpoint a.ckpt --resume    the same as 20 epochs at once, bit by bit)",
      static_scale, fmt::join(names, ", "), training::curve<training::loss_point>::most);
}

}  // namespace

std::filesystem::path train_options::results_file() const {
  if (!json_file.empty() || report_folder.empty()) return json_file;
  return std::filesystem::path(report_folder) / "train.json";
}

std::vector<run_settings> runs_of(const train_options& options) {
  const auto run = [&](const std::string& name, const std::string& precision, const std::string& scaling) {
    return run_settings{name,        precision, scaling, formats_of(precision), scaling_named(scaling, options.numbers),
                        options.seed};
  };
  if (!options.compares) return {run(options.precision + "-" + options.scaling, options.precision, options.scaling)};
  return {run("fp32", "fp32", "none"), run("fp16-none", "fp16", "none"),
          run("fp16-static", "fp16", fmt::format("static:{}", static_scale)), run("fp16-dynamic", "fp16", "dynamic"),
          run("bf16", "bf16", "none")};
}

training::task task_named(const std::string& name, const train_options& options) {
  return name == "digits" ? training::digits_task(digits_file(options), options.batch)
                          : training::field_task(options.batch);
}

std::string command_of(const train_options& options, const std::string& task, std::uint64_t epochs) {
  std::string text = "syclamp train";
  const auto add = [&](const char* option, const auto& value) {
    text += fmt::format(" {} {}", option, quoted(fmt::format("{}", value)));
  };
  const auto add_if_given = [&](const char* option, const auto& value) {
    if (value) add(option, *value);
  };
  add("--task", task);
  if (options.compares) {
    text += " --compare";
  } else {
    add("--precision", options.precision);
    add("--scaling", options.scaling);
  }
  add("--epochs", epochs);
  add("--seed", options.seed);
  add_if_given("--init", options.numbers.init);
  add_if_given("--growth", options.numbers.growth);
  add_if_given("--backoff", options.numbers.backoff);
  add_if_given("--interval", options.numbers.interval);
  add_if_given("--min", options.numbers.min);
  add_if_given("--max", options.numbers.max);
  add_if_given("--hysteresis", options.numbers.hysteresis);
  if (task == "digits" && !options.data_file.empty()) add("--data", options.data_file);
  if (options.batch != 0) add("--batch", options.batch);
  return text;
}

void add_train_options(CLI::App& command, train_options& options) {
  std::vector<std::string> choices(std::begin(training::task_names), std::end(training::task_names));
  choices.emplace_back("all");
  std::vector<std::string> scalings{"none", "dynamic"};
  for (const preset_info& preset : scaling_presets()) scalings.push_back(preset.name);
  const auto is_scaling = [scalings](const std::string& name) {
    const bool is_known = name.starts_with("static") || std::ranges::find(scalings, name) != scalings.end();
    return is_known ? std::string{} : name + " is none of " + fmt::format("{}, static:S", fmt::join(scalings, ", "));
  };
  command.add_option("--task", options.tasks, "What to learn: field, digits or all; may be repeated")
      ->check(CLI::IsMember(choices))
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--precision", options.precision, "fp32, fp16 or bf16")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--scaling", options.scaling, "Loss scaling: none, static:S, dynamic or a preset, see below")
      ->check(CLI::Validator(is_scaling, "", "scaling"))
      ->type_name("NAME")
      ->capture_default_str();
  auto* compares = command.add_flag("--compare", options.compares,
                                    "Train in fp32, fp16-none, fp16-static, fp16-dynamic and bf16, with the same data");
  compares->excludes("--precision")->excludes("--scaling");
  command.add_option("--epochs", options.epochs, "How often to go through the samples; default: what the task needs")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--seed", options.seed, "Of the first weights and of the order of samples")->capture_default_str();
  add_policy_options(command, options.numbers);
  command.add_option("--data", options.data_file, "File of the task digits");
  command.add_option("--json", options.json_file, "Write everything that was measured to this file as JSON");
  command.add_option("--report", options.report_folder, "Make a page of it: FOLDER/index.html")->type_name("FOLDER");
  auto* checkpoint =
      command.add_option("--checkpoint", options.checkpoint_file,
                         fmt::format("Save the run to this new file, every {} s, at its end, on Ctrl-C and on SIGTERM",
                                     time_between_checkpoints.count()));
  checkpoint->excludes(compares)->type_name("FILE");
  command
      .add_flag("--resume", options.resumes, "Go on with the run of --checkpoint; --epochs counts from its beginning")
      ->needs(checkpoint);
  command.add_option("--batch", options.batch)->group("");  // for tests
  command.footer(explanation());
}

void check_train_options(train_options& options) {
  std::vector<std::string> tasks;
  for (const std::string& name : options.tasks)
    for (const std::string value : training::task_names)
      if ((name == value || name == "all") && std::ranges::find(tasks, value) == tasks.end()) tasks.push_back(value);
  options.tasks = tasks;
  const std::string& file = options.checkpoint_file;
  if (tasks.size() > 1 && !file.empty())
    throw CLI::ValidationError("--checkpoint", "holds one run; train one task at a time");
  if (std::error_code failed; !file.empty() && !options.resumes && std::filesystem::exists(file, failed))
    throw CLI::ValidationError(
        "--checkpoint", file + " is there already; go on with its run by --resume, or remove it, or name another file");
  if (!options.compares && !is_preset(options.scaling) && options.numbers.has_any())
    throw CLI::ValidationError(
        "--scaling",
        options.scaling + " has no numbers that could be changed; --init to --hysteresis are for dynamic or a preset");
  try {
    runs_of(options);
  } catch (const invalid_argument& wrong) {
    throw CLI::ValidationError("--scaling", wrong.what());
  }
}

}  // namespace syclamp::program
