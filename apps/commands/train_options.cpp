// SPDX-License-Identifier: Apache-2.0
#include "apps/commands/train_options.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/support/help_text.hpp"

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
      throw invalid_argument(
          fmt::format("\"{}\": {} is not a number; write for example static:1024", name, name.substr(prefix.size())));
    return fixed_at(scale);
  }
  return policy_of(name == "dynamic" ? "syclamp" : name, numbers);
}

bool is_preset(const std::string& scaling) {
  return scaling != "none" && scaling != "static" && !scaling.starts_with("static:");
}

/// --data, else digits.csv in the folder SYCLAMP_DATA, else in the folder of ./run setup.
std::filesystem::path digits_file(const train_options& options) {
  if (!options.data_file.empty()) return options.data_file;
  const char* folder = std::getenv("SYCLAMP_DATA");
  return std::filesystem::path(folder != nullptr && *folder != '\0' ? folder : SYCLAMP_DATA_FOLDER) / "digits.csv";
}

/// Quotes a word for a POSIX shell.
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
      R"(Examples:
  syclamp train --compare                                   shows why FP16 needs loss scaling
  syclamp train --compare --init 16777216 --max 4294967296 --interval 50     shows skips and growth
  syclamp train --task digits --precision bf16 --scaling none
  syclamp train --epochs 10 --checkpoint a.ckpt             saves a run of 10 epochs
  syclamp train --epochs 20 --checkpoint a.ckpt --resume    resumes it; bit-identical to 20 epochs without a stop

Tasks:
  field    A surrogate for a simulation: 8 parameters in, a damped spherical wave at 16 x 16 x 16 points out. Four
           batches of 4096 samples. The loss is the mean over all points of all samples. The gradient of one output is
           therefore about 1e-7 times its error, near the smallest FP16 number. Without loss scaling most of
           these gradients become 0.
  digits   Handwritten digits of 8 x 8 pixels: the 1797 that scikit-learn carries, 357 of them held out. The file is
           --data FILE, else $SYCLAMP_DATA/digits.csv, else the one that ./run setup downloads. A batch has only 96
           samples of 10 outputs. The gradients are large enough for FP16, so all runs learn equally well without scaling.

Precision: master weights are always FP32. With fp16 and bf16, the model's working copy, the activations and the
gradients are in that format. Sums of products, softmax and losses are FP32.

Scaling: none; static, a fixed scale of {0}; static:S, a fixed scale of S; dynamic, the preset syclamp; or a preset:
{1}.
The options --init to --hysteresis change the numbers of a preset.

Columns of the table:
  held-out loss          loss on samples that were not used for training, after the last step
  gradients that are 0   share of all stored gradients, of the output and of the weights, that are exactly zero: the
                         mean over the last steps of all epochs. The JSON also has the share of the weights alone.
  steps skipped          because a gradient was not finite
  scaling's share        time of inspecting gradients and updating the scale, as a share of the whole step. Medians by
                         the device's clock. Without scaling nothing is inspected, and the share is 0.

JSON: {{task, command, seed, epochs, steps, batch, parameters, device, version, interrupted, …, runs: [{{name, loss,
accuracy, zero_share, zero_share_weights, skips, final_scale, seconds, scaling_share, loss_curve, …}}]}}; for several
tasks, a list of such objects. Values that are not finite or not known are null. Curves have one point per step or per
epoch. Curves of more than {2} points, and `skipped_steps`, are thinned to every second point, every fourth, and so on,
and keep the last point. `skips` and all other numbers cover all steps.

--report uses the Python of ./run setup, or $SYCLAMP_PYTHON, which needs the packages of setup/report.lock.

Ctrl-C and SIGTERM stop training and still write the results so far and the checkpoint. The exit code is then 130 or
143. --json, --report and --checkpoint replace files atomically. They follow symbolic links only if the links belong to
you or to root.)",
      static_scale, wrapped(names), training::curve<training::loss_point>::most);
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
    return is_known ? std::string{}
                    : name + " does not exist; choose one of " + fmt::format("{}, static:S", fmt::join(scalings, ", "));
  };
  command.add_option("--task", options.tasks, "Task to learn, see below; may be repeated")
      ->check(CLI::IsMember(choices))
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--precision", options.precision, "Format of activations, gradients and the model's working copy")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--scaling", options.scaling, "Loss scaling: none, static, static:S, dynamic or a preset, see below")
      ->check(CLI::Validator(is_scaling, "", "scaling"))
      ->type_name("NAME")
      ->capture_default_str();
  auto* compares =
      command.add_flag("--compare", options.compares,
                       "Train five runs with the same data: fp32, fp16-none, fp16-static, fp16-dynamic and bf16");
  compares->excludes("--precision")->excludes("--scaling");
  command.add_option("--epochs", options.epochs, "Number of passes over the samples. Default: the task's own")
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--seed", options.seed, "Seed of the initial weights and of the order of samples")
      ->capture_default_str();
  add_policy_options(command, options.numbers);
  command.add_option("--data", options.data_file, "Data file of the task digits")->type_name("FILE");
  command.add_option("--json", options.json_file, "Write all results to this file as JSON")->type_name("FILE");
  command.add_option("--report", options.report_folder, "Write an HTML report to FOLDER/index.html")
      ->type_name("FOLDER");
  auto* checkpoint = command.add_option("--checkpoint", options.checkpoint_file,
                                        fmt::format("Save the run to this file every {} s, at the end, and on Ctrl-C "
                                                    "or SIGTERM. The file must not exist, except with --resume",
                                                    time_between_checkpoints.count()));
  checkpoint->excludes(compares)->type_name("FILE");
  command
      .add_flag("--resume", options.resumes,
                "Resume the run of --checkpoint. --epochs counts from the beginning of that run")
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
    throw CLI::ValidationError("--checkpoint", "a checkpoint holds one run; train one task at a time");
  if (std::error_code failed; !file.empty() && !options.resumes && std::filesystem::exists(file, failed))
    throw CLI::ValidationError(
        "--checkpoint",
        file + " already exists; resume its run with --resume, remove the file, or choose another file");
  if (!options.compares && !is_preset(options.scaling) && options.numbers.has_any())
    throw CLI::ValidationError(
        "--scaling",
        options.scaling + " does not use --init to --hysteresis; omit them, or choose dynamic or a preset");
  try {
    runs_of(options);
  } catch (const invalid_argument& wrong) {
    throw CLI::ValidationError("--scaling", wrong.what());
  }
}

}  // namespace syclamp::program
