// SPDX-License-Identifier: Apache-2.0
#include "apps/commands/train_progress.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace syclamp::program {
namespace {

/// An estimate in multiply-adds. Each layer also costs the launches of its kernels, which is what small tasks spend
/// their time on. The constant makes both parts of a step on a CPU of two cores comparable.
double step_cost(const training::task& task) {
  constexpr double launches_of_a_layer = 4e6;
  const std::vector<std::uint64_t>& widths = task.model.widths;
  double cost = 0.0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i)
    cost += static_cast<double>(task.batch * widths[i] * widths[i + 1]) + launches_of_a_layer;
  return cost;
}

}  // namespace

train_progress::train_progress(std::span<const training::task> tasks, std::span<const std::uint64_t> epochs,
                               const std::vector<std::string>& runs) {
  double total = 0.0;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    for (const std::string& name : runs) {
      const std::uint64_t steps = epochs[i] * tasks[i].steps_per_epoch();
      const double cost = step_cost(tasks[i]) * static_cast<double>(steps);
      runs_.push_back({.title = tasks[i].name + " " + name, .cost = cost, .begin = total, .steps = steps});
      total += cost;
    }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    runs_[i].title = fmt::format("run {} of {}: {}", i + 1, runs_.size(), runs_[i].title);
    runs_[i].cost /= total;
    runs_[i].begin /= total;
  }
}

double train_progress::share(std::uint64_t done, std::uint64_t all) const {
  const planned_run& run = runs_[begun_ - 1];
  return run.begin + run.cost * static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(1, all));
}

void train_progress::begin_run(std::uint64_t resumed) {
  ++begun_;
  if (resumed != 0) bar_.skip(share(resumed, runs_[begun_ - 1].steps));
  show(resumed, runs_[begun_ - 1].steps);
}

void train_progress::show(std::uint64_t done, std::uint64_t all) {
  bar_.show(share(done, all), runs_[begun_ - 1].title);
}

}  // namespace syclamp::program
