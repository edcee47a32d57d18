// SPDX-License-Identifier: Apache-2.0
#include "apps/training/summary.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace syclamp::training {
namespace {

/// The runs that the summary compares.
struct compared_runs {
  const task_result* task;
  const run_result *exact, *plain, *dynamic;
};

const run_result* find_run(const task_result& task, const char* name) {
  const auto found = std::ranges::find(task.runs, name, &run_result::name);
  return found == task.runs.end() ? nullptr : &*found;
}

std::string percent(double share) {
  if (!std::isfinite(share)) return "an unknown share";
  const double value = 100 * share;
  if (value > 0.0 && value < 0.1) return "less than 0.1 %";
  return fmt::format("{:.{}f} %", value, value < 10.0 && value > 0.0 ? 1 : 0);
}

/// The accuracy of a classifier, which people know; otherwise the loss, relative to FP32's.
std::string score(const run_result& run, const run_result& exact) {
  if (std::isfinite(run.accuracy())) return fmt::format("{:.1f} % accuracy", 100 * run.accuracy());
  if (&run == &exact) return fmt::format("a loss of {:.5f}", run.loss());
  if (!std::isfinite(run.loss())) return "no loss at all, because it diverged";
  const double ratio = run.loss() / exact.loss();
  if (ratio >= 1.5) return fmt::format("{:.1f} times that loss", ratio);
  return fmt::format("{:.1f} % {} that loss", 100 * std::abs(ratio - 1), ratio < 1 ? "below" : "above");
}

/// One clause per task; with the name of its task if there are several.
template <typename Clause>
std::string per_task(const std::vector<compared_runs>& all, Clause clause) {
  std::vector<std::string> parts;
  for (const compared_runs& runs : all) parts.push_back((all.size() > 1 ? runs.task->task + ": " : "") + clause(runs));
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string summary_of(std::span<const task_result> tasks) {
  std::vector<compared_runs> all;
  for (const task_result& task : tasks) {
    const compared_runs runs{&task, find_run(task, "fp32"), find_run(task, "fp16-none"),
                             find_run(task, "fp16-dynamic")};
    if (task.interrupted || runs.exact == nullptr || runs.plain == nullptr || runs.dynamic == nullptr) return {};
    all.push_back(runs);
  }
  if (all.empty()) return {};
  std::string text;
  const auto add = [&text](const char* heading, const std::string& line) {
    text += fmt::format("{:<16} {}\n", heading, line);
  };
  add("Trained", per_task(all, [](const compared_runs& runs) {
        return fmt::format("the task {}, {} weights, {} times; FP32 reached {}", runs.task->task, runs.task->parameters,
                           runs.task->runs.size(), score(*runs.exact, *runs.exact));
      }));
  add("Plain FP16", per_task(all, [](const compared_runs& runs) {
        return fmt::format("{} of the gradients became 0 (FP32: {}), and it reached {}",
                           percent(runs.plain->zero_share()), percent(runs.exact->zero_share()),
                           score(*runs.plain, *runs.exact));
      }));
  add("Dynamic scaling", per_task(all, [](const compared_runs& runs) {
        return fmt::format("{} became 0, and it reached {}", percent(runs.dynamic->zero_share()),
                           score(*runs.dynamic, *runs.exact));
      }));
  add("Its cost", per_task(all, [](const compared_runs& runs) {
        return fmt::format("{} of the time of a step, {} of {} steps skipped",
                           percent(runs.dynamic->times.scaling_share()), runs.dynamic->skips(), runs.dynamic->steps);
      }));
  add("What to look at", "\"Held-out loss\" and \"Exponents of the gradients\" in the report of --report");
  return text;
}

}  // namespace syclamp::training
