// SPDX-License-Identifier: Apache-2.0
// syclamp train: the same model in FP32, FP16 and BF16, with and without loss scaling, and what becomes of it.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/commands.hpp"
#include "apps/interruption.hpp"
#include "apps/policy_options.hpp"
#include "apps/progress_bar.hpp"
#include "apps/report_page.hpp"
#include "apps/write_file.hpp"
#include "training/result_json.hpp"
#include "training/result_table.hpp"
#include "training/trainer.hpp"

namespace syclamp::program {
namespace {

using json = nlohmann::ordered_json;
using training::run_settings;
using training::task;
using training::task_result;
using training::trainer;

struct options {
  std::vector<std::string> tasks = {"field"};
  std::string precision = "fp16", scaling = "dynamic";
  bool compares = false, resumes = false;
  std::optional<std::uint64_t> epochs;
  std::uint64_t seed = 1, batch = 0;
  policy_options numbers;
  std::string data_file, json_file, report_folder, checkpoint_file;
};

// --- What is asked for ---

constexpr double static_scale = 1024.0;  // unless another one is given

precision_policy formats_of(const std::string& precision) {
  return policy_named(precision == "fp32" ? "float32" : precision == "fp16" ? "mixed_float16" : "mixed_bfloat16");
}

scaling_policy fixed_at(double scale) {
  scaling_policy policy{.mode = scaling_mode::fixed, .init = scale};
  policy.power_of_two = false;
  policy.min = std::min(policy.min, scale);
  policy.max = std::max(policy.max, scale);
  validate(policy);
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

std::vector<run_settings> runs_of(const options& asked) {
  const auto run = [&](const std::string& name, const std::string& precision, const std::string& scaling) {
    return run_settings{name,      precision, scaling, formats_of(precision), scaling_named(scaling, asked.numbers),
                        asked.seed};
  };
  if (!asked.compares) return {run(asked.precision + "-" + asked.scaling, asked.precision, asked.scaling)};
  return {run("fp32", "fp32", "none"), run("fp16-none", "fp16", "none"), run("fp16-static", "fp16", "static:1024"),
          run("fp16-dynamic", "fp16", "dynamic"), run("bf16", "bf16", "none")};
}

/// --data, else the folder SYCLAMP_DATA, else the folder of set-up.
std::filesystem::path digits_file(const options& asked) {
  if (!asked.data_file.empty()) return asked.data_file;
  const char* folder = std::getenv("SYCLAMP_DATA");
  return std::filesystem::path(folder != nullptr && *folder != '\0' ? folder : SYCLAMP_DATA_FOLDER) / "digits.csv";
}

task task_named(const std::string& name, const options& asked) {
  return name == "digits" ? training::digits_task(digits_file(asked), asked.batch) : training::field_task(asked.batch);
}

// --- Running it ---

/// Writes the checkpoint, if there is to be one.
class saver {
 public:
  saver(trainer& of, std::string file) : trainer_(of), file_(std::move(file)) {}

  void now() {
    if (!file_.empty()) trainer_.save(file_);
    last_ = clock::now();
  }
  void now_and_then() {
    constexpr std::chrono::seconds often_enough{30};
    if (clock::now() - last_ > often_enough) now();
  }

 private:
  using clock = std::chrono::steady_clock;
  trainer& trainer_;
  std::string file_;
  clock::time_point last_ = clock::now();
};

task_result train_task(const engine& on, const task& what, const options& asked) {
  const std::uint64_t epochs = asked.epochs.value_or(what.epochs);
  task_result result{.task = what.name,
                     .seed = asked.seed,
                     .epochs = epochs,
                     .steps = epochs * what.steps_per_epoch(),
                     .batch = what.batch,
                     .device = on.queue().get_device().get_info<sycl::info::device::name>(),
                     .profile = std::string(on.profile_name())};
  for (const run_settings& settings : runs_of(asked)) {
    if (interruption::is_asked_for()) break;
    const progress_bar bar(what.name + " " + settings.name);
    trainer one(on, what, settings);
    if (asked.resumes) one.load(asked.checkpoint_file);
    saver save(one, asked.checkpoint_file);
    const auto show = [&](std::uint64_t done, std::uint64_t all) {
      bar.show(done, all);
      save.now_and_then();
    };
    one.train(epochs, {.progress = show, .shall_stop = interruption::is_asked_for});
    save.now();
    result.runs.push_back(one.result());
    result.parameters = one.weights();
    result.gemm = one.gemm_path();
  }
  result.interrupted = interruption::is_asked_for();
  return result;
}

/// The object of the one task that was asked for, or an array of them.
json json_of(const options& asked, const std::vector<task_result>& results) {
  json all = json::array();
  for (const task_result& one : results) all.push_back(training::json_of(one));
  return asked.tasks.size() == 1 ? all[0] : all;
}

void write_results(const options& asked, const std::vector<task_result>& results) {
  std::filesystem::path file = asked.json_file;
  if (!asked.report_folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(asked.report_folder, failed);
    if (failed)
      throw std::runtime_error(fmt::format("cannot make the folder {}: {}", asked.report_folder, failed.message()));
    if (file.empty()) file = std::filesystem::path(asked.report_folder) / "train.json";
  }
  if (file.empty()) return;
  write_file(file, json_of(asked, results).dump(2) + "\n");
  const bool has_runs = std::ranges::any_of(results, [](const task_result& one) { return !one.runs.empty(); });
  if (asked.report_folder.empty() || !has_runs) return;
  make_report(file, asked.report_folder);
  fmt::print("\nThe report is {}\n", (std::filesystem::path(asked.report_folder) / "index.html").string());
}

void run(const options& asked) {
  try {
    runs_of(asked);
  } catch (const invalid_argument& wrong) {
    throw CLI::ValidationError("--scaling", wrong.what());
  }
  const interruption watch;
  const engine on = training::timed_engine();
  fmt::print("{}, profile {}\n", on.queue().get_device().get_info<sycl::info::device::name>(), on.profile_name());
  std::fflush(stdout);
  std::vector<task_result> results;
  for (const std::string& name : asked.tasks) {
    if (interruption::is_asked_for() && !results.empty()) break;
    const task what = task_named(name, asked);
    results.push_back(train_task(on, what, asked));
    const task_result& result = results.back();
    fmt::print("\n{}", training::table_of(result));
    std::fflush(stdout);
  }
  write_results(asked, results);
  if (interruption::is_asked_for()) throw interrupted{};
}

std::string explanation() {
  std::vector<std::string> names;
  for (const preset_info& one : presets()) names.push_back(one.name);
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
Options --init to --hysteresis change its numbers.

What is told of a run:
  held-out loss       on samples that are not learnt from, after the last step; a run that has diverged has none
  gradients that are 0   share of stored gradients, of all weights and of the output, that are exactly zero: the mean
                      over the last steps of all epochs. Some are zero in FP32, too (pixels that are always blank).
  steps skipped       because a gradient was not finite
  scaling's share     time of inspecting gradients and moving the scale, of the whole step; medians by the device's clock

Ctrl-C ends training with what there is, and exit code 130.

Examples:
  syclamp train --compare                                   why loss scaling is needed
  syclamp train --task digits --precision bf16 --scaling none
  syclamp train --compare --init 16777216 --max 4294967296 --interval 50     one sees skips and growth
  syclamp train --epochs 10 --checkpoint a.ckpt, and then
  syclamp train --epochs 20 --checkpoint a.ckpt --resume    the same as 20 epochs at once, bit by bit)",
      static_scale, fmt::join(names, ", "));
}

}  // namespace

void add_train_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "train", "Trains a small model in one precision, or in all of them, and shows what loss scaling does for it.");
  auto asked = std::make_shared<options>();
  std::vector<std::string> known(std::begin(training::task_names), std::end(training::task_names));
  std::vector<std::string> choices = known;
  choices.emplace_back("all");
  std::vector<std::string> scalings{"none", "dynamic"};
  for (const preset_info& one : presets()) scalings.push_back(one.name);
  const auto is_scaling = [scalings](const std::string& name) {
    const bool is_known = name.starts_with("static") || std::ranges::find(scalings, name) != scalings.end();
    return is_known ? std::string{} : name + " is none of " + fmt::format("{}, static:S", fmt::join(scalings, ", "));
  };
  command->add_option("--task", asked->tasks, "What to learn: field, digits or all; may be repeated")
      ->check(CLI::IsMember(choices))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--precision", asked->precision, "fp32, fp16 or bf16")
      ->check(CLI::IsMember({"fp32", "fp16", "bf16"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--scaling", asked->scaling, "Loss scaling: none, static:S, dynamic or a preset, see below")
      ->check(CLI::Validator(is_scaling, "", "scaling"))
      ->type_name("NAME")
      ->capture_default_str();
  auto* compares = command->add_flag(
      "--compare", asked->compares, "Train in fp32, fp16-none, fp16-static, fp16-dynamic and bf16, with the same data");
  compares->excludes("--precision")->excludes("--scaling");
  command->add_option("--epochs", asked->epochs, "How often to go through the samples; default: what the task needs")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--seed", asked->seed, "Of the first weights and of the order of samples")->capture_default_str();
  add_policy_options(*command, asked->numbers);
  command->add_option("--data", asked->data_file, "File of the task digits");
  command->add_option("--json", asked->json_file, "Write everything that was measured to this file as JSON");
  command->add_option("--report", asked->report_folder, "Make a page of it: FOLDER/index.html")->type_name("FOLDER");
  auto* checkpoint = command->add_option("--checkpoint", asked->checkpoint_file,
                                         "Save the run to this file, twice a minute, at its end and on Ctrl-C");
  checkpoint->excludes(compares)->type_name("FILE");
  command
      ->add_flag("--resume", asked->resumes, "Go on with the run of --checkpoint; --epochs counts from its beginning")
      ->needs(checkpoint);
  command->add_option("--batch", asked->batch)->group("");  // for tests
  command->footer(explanation());
  command->callback([asked, known] {
    std::vector<std::string> tasks;
    for (const std::string& name : asked->tasks)
      for (const std::string& one : known)
        if ((name == one || name == "all") && std::ranges::find(tasks, one) == tasks.end()) tasks.push_back(one);
    asked->tasks = tasks;
    if (tasks.size() > 1 && !asked->checkpoint_file.empty())
      throw CLI::ValidationError("--checkpoint", "holds one run; train one task at a time");
    run(*asked);
  });
}

}  // namespace syclamp::program
