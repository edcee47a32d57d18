// SPDX-License-Identifier: Apache-2.0
// One progress bar over all runs of all tasks of `syclamp train`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/support/progress_bar.hpp"
#include "apps/training/task.hpp"

namespace syclamp::program {

/// Tells how much of the whole comparison is done. Tasks differ in the cost of a step, so steps are weighted.
class train_progress {
 public:
  /// \param epochs  of each task
  /// \param runs    names of the runs of each task
  train_progress(std::span<const training::task> tasks, std::span<const std::uint64_t> epochs,
                 const std::vector<std::string>& runs);

  /// A run begins. Runs begin in the order of the tasks and, within a task, in the order of their names.
  /// \param resumed  steps that the run has made already
  void begin_run(std::uint64_t resumed);

  /// The run that has begun has made so many of its steps.
  void show(std::uint64_t done, std::uint64_t all);

  /// Before other output.
  void hide() const { bar_.hide(); }

 private:
  struct planned_run {
    std::string title;
    double cost = 0.0;   ///< share of all the work
    double begin = 0.0;  ///< share of the work before this run
    std::uint64_t steps = 0;
  };
  double share(std::uint64_t done, std::uint64_t all) const;

  std::vector<planned_run> runs_;
  std::size_t begun_ = 0;
  progress_bar bar_;
};

}  // namespace syclamp::program
