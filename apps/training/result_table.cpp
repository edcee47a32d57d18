// SPDX-License-Identifier: Apache-2.0
#include "apps/training/result_table.hpp"

#include <cmath>

#include <fmt/format.h>

namespace syclamp::training {
namespace {

std::string percent(double share, int digits) {
  return std::isfinite(share) ? fmt::format("{:.{}f} %", 100 * share, digits) : "-";
}

std::string scale_of(double scale) {
  const double exponent = std::log2(scale);
  return exponent == std::floor(exponent) ? fmt::format("2^{:.0f}", exponent) : fmt::format("{:g}", scale);
}

}  // namespace

std::string table_of(const task_result& task) {
  std::string text = fmt::format("{:<13} {:>10} {:>9} {:>11} {:>7} {:>12} {:>8} {:>9}\n", task.task, "held-out",
                                 "accuracy", "gradients", "steps", "final", "seconds", "scaling's");
  text += fmt::format("{:<13} {:>10} {:>9} {:>11} {:>7} {:>12} {:>8} {:>9}\n", "", "loss", "", "that are 0", "skipped",
                      "scale", "", "share");
  for (const run_result& run : task.runs)
    text += fmt::format("{:<13} {:>10} {:>9} {:>11} {:>7} {:>12} {:>8.1f} {:>9}\n", run.name,
                        std::isfinite(run.loss()) ? fmt::format("{:.5f}", run.loss()) : "diverged",
                        percent(run.accuracy(), 1), percent(run.zero_share(), 2), run.skips(),
                        scale_of(run.final_scale), run.seconds, percent(run.times.scaling_share(), 2));
  return text +
         "Gradients that are 0: share of all stored gradients, the output's and the weights'. "
         "The JSON also has the share of the weights' gradients alone.\n";
}

}  // namespace syclamp::training
