// SPDX-License-Identifier: Apache-2.0
// The five lines at the end of a comparison.
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "apps/training/summary.hpp"

using namespace syclamp;
using namespace syclamp::training;

TEST_CASE("a whole comparison is summarized in five lines") {
  const auto run = [](const char* name, double loss, double zeros) {
    run_result made{.name = name, .steps = 280};
    made.held_out.add({280, loss, unknown});
    made.looks = 1;
    made.tensors = {{.name = "output", .elements = 100, .zeros = zeros}};
    made.times = {.forward = 1, .backward = 2, .inspect = 0.04, .apply = 0.9, .update = 0.06, .other = 0};
    return made;
  };
  task_result result{.task = "field", .parameters = 270000};
  result.runs = {run("fp32", 0.005, 0), run("fp16-none", 0.0125, 87), run("fp16-dynamic", 0.00505, 0.01)};
  result.runs[2].skipped.add(1);
  CHECK(summary_of({&result, 1}) ==
        "Trained          the task field, 270000 weights, 3 times; FP32 reached a loss of 0.00500\n"
        "Plain FP16       87 % of the gradients became 0 (FP32: 0 %), and it reached 2.5 times that loss\n"
        "Dynamic scaling  less than 0.1 % became 0, and it reached 1.0 % above that loss\n"
        "Its cost         2.5 % of the time of a step, 1 of 280 steps skipped\n"
        "What to look at  \"Held-out loss\" and \"Exponents of the gradients\" in the report of --report\n");
  std::vector<task_result> both{result, result};
  both[1].task = "digits";
  CHECK_THAT(summary_of(both), Catch::Matchers::ContainsSubstring("; digits: 87 % of the gradients"));
  result.interrupted = true;
  CHECK(summary_of({&result, 1}).empty());
  result.interrupted = false;
  result.runs.pop_back();
  CHECK(summary_of({&result, 1}).empty());
}
