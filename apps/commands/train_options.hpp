// SPDX-License-Identifier: Apache-2.0
// The options of `syclamp train`.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/commands/policy_options.hpp"
#include "apps/training/trainer.hpp"

namespace syclamp::program {

inline constexpr double static_scale = 1024.0;                       ///< unless another one is given
inline constexpr std::chrono::seconds time_between_checkpoints{30};  ///< or a little more

struct train_options {
  std::vector<std::string> tasks = {"field"};
  std::string precision = "fp16", scaling = "dynamic";
  bool compares = false, resumes = false;
  std::optional<std::uint64_t> epochs;
  std::uint64_t seed = 1, batch = 0;
  policy_options numbers;
  std::string data_file, json_file, report_folder, checkpoint_file;

  /// The file for the results; empty if there is none.
  std::filesystem::path results_file() const;
};

/// \param into  must live as long as the command
void add_train_options(CLI::App& command, train_options& options);

/// Makes `tasks` a list of tasks without repetition.
/// \throws CLI::ValidationError if options contradict each other
void check_train_options(train_options& options);

/// \throws invalid_argument if there is no such scaling
std::vector<training::run_settings> runs_of(const train_options& options);

training::task task_named(const std::string& name, const train_options& options);

/// The command line that repeats the runs of a task, without output options. Words are quoted for a shell.
std::string command_of(const train_options& options, const std::string& task, std::uint64_t epochs);

}  // namespace syclamp::program
