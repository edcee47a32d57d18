// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "training/result_json.hpp"
#include "training/run_notes.hpp"

using namespace syclamp;
using namespace syclamp::training;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

const run_identity somebody{.task = "field",
                            .precision = "fp16",
                            .scaling = "dynamic",
                            .seed = 7,
                            .batch = 16,
                            .init = 65536,
                            .max = std::numeric_limits<double>::infinity(),
                            .interval = 2000};
constexpr std::size_t longest = 1u << 20;

run_result half_a_run() {
  run_result result{.name = "fp16-dynamic", .steps = 2, .seconds = 0.25};
  result.losses = {{1, 0.1}, {2, unknown}};
  result.held_out = {{2, 1.0 / 3, unknown}};
  result.scales = {{1, 65536}, {2, 32768}};
  result.skipped = {1};
  result.final_scale = 32768;
  result.looks = 1;
  result.tensors = {{.name = "output", .elements = 8, .zeros = 2, .subnormals = 1, .amax = 0.5}};
  result.exponents = {.step = 2, .lowest = -3, .counts = {1, 0, 5}, .zeros = 2};
  return result;
}

}  // namespace

TEST_CASE("notes of a run bring back all that it has shown") {
  const run_result before = half_a_run(), after = read_notes(notes_of(somebody, before, longest), somebody);
  run_result named = after;  // precision and scaling are the identity's
  named.precision = before.precision;
  named.scaling = before.scaling;
  CHECK(json_of(named) == json_of(before));
  CHECK(std::isnan(after.losses[1].loss));
}

TEST_CASE("notes of another run, or of nobody, are refused") {
  const std::string notes = notes_of(somebody, half_a_run(), longest);
  run_identity other = somebody;
  other.seed = 8;
  CHECK_THROWS_MATCHES(read_notes(notes, other), invalid_argument,
                       MessageMatches(ContainsSubstring("seed 7") && ContainsSubstring("has 8")));
  other = somebody;
  other.precision = "bf16";
  CHECK_THROWS_MATCHES(read_notes(notes, other), invalid_argument, MessageMatches(ContainsSubstring("precision fp16")));
  other = somebody;
  other.init = 0.1;
  CHECK_THROWS_MATCHES(read_notes(notes, other), invalid_argument,
                       MessageMatches(ContainsSubstring("init 65536") && ContainsSubstring("has 0.1")));
  other = somebody;
  other.interval = 50;
  CHECK_THROWS_MATCHES(read_notes(notes, other), invalid_argument, MessageMatches(ContainsSubstring("interval 2000")));
  for (std::size_t length = 0; length < notes.size(); ++length)
    CHECK_THROWS_AS(read_notes(notes.substr(0, length), somebody), invalid_argument);
  CHECK_THROWS_AS(read_notes("epoch 7", somebody), invalid_argument);
}

TEST_CASE("notes of a long run lose the beginnings of its curves, but nothing else") {
  run_result many = half_a_run();
  many.steps = 100'000;
  many.losses.clear();
  for (std::uint64_t i = 1; i <= many.steps; ++i) many.losses.push_back({i, 0.1});
  const std::string notes = notes_of(somebody, many, longest);
  CHECK(notes.size() <= longest);
  const run_result after = read_notes(notes, somebody);
  CHECK(after.steps == many.steps);
  REQUIRE(after.losses.size() > 10'000);
  CHECK(after.losses.back().step == many.steps);
}
