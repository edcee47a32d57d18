// SPDX-License-Identifier: Apache-2.0
// syclamp train: trains the same model in FP32, FP16 and BF16, with and without loss scaling, and compares the results.
#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>

#include <fmt/format.h>

#include "apps/commands/commands.hpp"
#include "apps/commands/train_options.hpp"
#include "apps/commands/train_progress.hpp"
#include "apps/support/interruption.hpp"
#include "apps/support/report_page.hpp"
#include "apps/support/standard_streams.hpp"
#include "apps/training/result_json.hpp"
#include "apps/training/result_table.hpp"
#include "apps/training/summary.hpp"
#include "support/printable.hpp"
#include "support/whole_file.hpp"

namespace syclamp::program {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;
using training::run_settings;
using training::task;
using training::task_result;
using training::trainer;

// --- Before ---

/// Checks before training that all outputs can be written, so that no results are lost at the end.
void prepare_outputs(const train_options& options) {
  if (!options.report_folder.empty()) {
    need_report_program();
    std::error_code failed;
    fs::create_directories(options.report_folder, failed);
    if (failed)
      throw std::runtime_error(fmt::format("cannot create the folder {}: {}", options.report_folder, failed.message()));
    need_writable(fs::path(options.report_folder) / "index.html");
  }
  if (!options.results_file().empty()) need_writable(options.results_file());
  if (!options.checkpoint_file.empty()) need_writable(options.checkpoint_file);
}

// --- Running it ---

/// Writes checkpoints, if --checkpoint is given.
class saver {
 public:
  saver(trainer& trainer, std::string file) : trainer_(trainer), file_(std::move(file)) {}

  void now() {
    if (!file_.empty() && trainer_.result().steps != 0) trainer_.save(file_);
    last_ = clock::now();
  }
  void now_and_then() {
    if (clock::now() - last_ > time_between_checkpoints) now();
  }

 private:
  using clock = std::chrono::steady_clock;
  trainer& trainer_;
  std::string file_;
  clock::time_point last_ = clock::now();
};

/// The result of a task before its first run.
task_result begin_of(const engine& engine, const task& measured, const train_options& options) {
  const std::uint64_t epochs = options.epochs.value_or(measured.epochs);
  return {.task = measured.name,
          .command = command_of(options, measured.name, epochs),
          .seed = options.seed,
          .epochs = epochs,
          .steps = epochs * measured.steps_per_epoch(),
          .batch = measured.batch,
          .device = engine.queue().get_device().get_info<sycl::info::device::name>(),
          .profile = std::string(engine.profile_name()),
          .interrupted = true};
}

/// Adds the runs of a task to its result, one by one, so that an exception loses only the current run.
void train_task(const engine& engine, const task& measured, const train_options& options, train_progress& progress,
                task_result& result) {
  for (const run_settings& settings : runs_of(options)) {
    if (interruption::is_asked_for()) return;
    trainer run(engine, measured, settings);
    if (options.resumes) run.load(options.checkpoint_file);
    progress.begin_run(run.result().steps);
    saver save(run, options.checkpoint_file);
    const auto show = [&](std::uint64_t done, std::uint64_t all) {
      progress.show(done, all);
      save.now_and_then();
    };
    const auto keep = [&] {
      if (run.result().steps == 0) return;
      result.runs.push_back(run.result());
      result.parameters = run.weights();
      if (const std::string path = run.gemm_path(); result.gemm.find(path) == std::string::npos)
        result.gemm += (result.gemm.empty() ? "" : ", ") + path;
    };
    try {
      run.train(result.epochs, {.progress = show, .shall_stop = interruption::is_asked_for});
    } catch (...) {
      keep();
      throw;
    }
    keep();
    save.now();
  }
  result.interrupted = interruption::is_asked_for();
}

train_progress progress_of(const std::vector<task>& tasks, const train_options& options) {
  std::vector<std::uint64_t> epochs;
  for (const task& planned : tasks) epochs.push_back(options.epochs.value_or(planned.epochs));
  std::vector<std::string> runs;
  for (const run_settings& settings : runs_of(options)) runs.push_back(settings.name);
  return {tasks, epochs, runs};
}

/// Trains the tasks in order until the user interrupts.
/// \param results  receives the results so far, also if this throws
void train_all(const engine& engine, const std::vector<task>& tasks, const train_options& options,
               std::vector<task_result>& results) {
  train_progress progress = progress_of(tasks, options);
  for (const task& measured : tasks) {
    if (interruption::is_asked_for() && !results.empty()) return;
    train_task(engine, measured, options, progress, results.emplace_back(begin_of(engine, measured, options)));
    progress.hide();
    if (results.back().runs.empty() && results.size() > 1) return results.pop_back();
    fmt::print("\n{}", training::table_of(results.back()));
    flush_output();
  }
}

// --- After ---

/// The JSON object of a single task, or an array of objects for several tasks.
std::string text_of(const train_options& options, const std::vector<task_result>& results) {
  json all = json::array();
  for (const task_result& result : results) all.push_back(training::json_of(result));
  const json& shown = options.tasks.size() == 1 ? all[0] : all;
  return shown.dump(2, ' ', false, json::error_handler_t::replace) + "\n";  // names of files may be anything
}

void write_results(const train_options& options, const std::vector<task_result>& results) {
  const fs::path file = options.results_file();
  if (!file.empty()) {
    std::fflush(stdout);  // in this order, if the file is standard output
    write_output(file, text_of(options, results));
  }
  if (options.report_folder.empty() || results.front().runs.empty()) return;
  make_report(file, options.report_folder);
  fmt::print("\nThe report is {}\n", printable((fs::path(options.report_folder) / "index.html").string()));
}

/// Writes the results so far after training has failed.
void rescue_results(const train_options& options, std::vector<task_result>& results) {
  std::erase_if(results, [](const task_result& result) { return result.runs.empty(); });
  if (results.empty()) return;
  try {
    write_results(options, results);
  } catch (const std::exception& also_failed) {
    print_error(also_failed.what());
  }
}

void run(const train_options& options) {
  prepare_outputs(options);
  const interruption watch;
  std::vector<task> tasks;
  for (const std::string& name : options.tasks) tasks.push_back(task_named(name, options));
  const engine engine = training::timed_engine();
  fmt::print("{}, profile {}\n", engine.queue().get_device().get_info<sycl::info::device::name>(),
             engine.profile_name());
  flush_output();
  std::vector<task_result> results;
  try {
    train_all(engine, tasks, options, results);
  } catch (...) {
    rescue_results(options, results);
    throw;
  }
  if (const std::string summary = training::summary_of(results); !summary.empty()) fmt::print("\n{}", summary);
  write_results(options, results);
  if (interruption::is_asked_for()) throw interrupted{interruption::signal()};
}

}  // namespace

void add_train_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "train", "Trains a small model in FP32, FP16 or BF16, with or without loss scaling, and reports the effect.");
  const auto given = std::make_shared<train_options>();
  add_train_options(*command, *given);
  command->callback([given] {
    check_train_options(*given);
    run(*given);
  });
}

}  // namespace syclamp::program
