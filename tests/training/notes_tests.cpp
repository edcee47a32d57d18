// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "apps/training/result_json.hpp"
#include "apps/training/run_notes.hpp"

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

run_result half_a_run() {
  run_result result{.name = "fp16-dynamic", .steps = 2, .seconds = 0.25};
  result.losses = {{{1, 0.1}, {2, unknown}}, 2};
  result.held_out = {{{2, 1.0 / 3, unknown}}, 1};
  result.scales = {{{1, 65536}, {2, 32768}}, 2};
  result.skipped = {{1}, 1};
  result.final_scale = 32768;
  result.looks = 1;
  result.tensors = {{.name = "output", .elements = 8, .zeros = 2, .subnormals = 1, .amax = 0.5}};
  result.exponents = {.step = 2, .lowest = -3, .counts = {1, 0, 5}, .zeros = 2};
  return result;
}

}  // namespace

TEST_CASE("notes of a run bring back all that it has shown") {
  const run_result before = half_a_run(), after = read_notes(notes_of(somebody, before), somebody);
  run_result named = after;  // precision and scaling are the identity's
  named.precision = before.precision;
  named.scaling = before.scaling;
  CHECK(json_of(named) == json_of(before));
  CHECK(std::isnan(after.losses.back().loss));
}

TEST_CASE("notes of another run, or of nobody, are refused") {
  const std::string notes = notes_of(somebody, half_a_run());
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

TEST_CASE("notes that were forged are refused, however deep they are") {
  constexpr std::size_t many = std::size_t{1} << 20;
  for (const char head : {'\x81', '\xc1', '\x9f', '\xbf', '\x7f', '\xd9'})
    CHECK_THROWS_AS(read_notes(std::string(many, head), somebody), invalid_argument);
  std::string objects;  // {"": {"": …
  for (std::size_t i = 0; i < many / 2; ++i) objects += "\xa1\x60";
  CHECK_THROWS_AS(read_notes(objects, somebody), invalid_argument);
}

TEST_CASE("notes with numbers that no run has are refused by name and value") {
  constexpr std::uint64_t huge = ~std::uint64_t{0};
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  using nlohmann::json;
  struct wrong {
    const char* where;
    json value;
    const char* complaint;
  };
  const std::vector<wrong> all{{"/steps", huge, "steps is 18446744073709551615"},
                               {"/steps", (std::uint64_t{1} << 52) + 1, "steps is 4503599627370497"},
                               {"/steps", 1, "losses is 2"},
                               {"/seconds", nan, "seconds is nan"},
                               {"/seconds", -1.0, "seconds is -1"},
                               {"/final_scale", nan, "final_scale is nan"},
                               {"/final_scale", 0.0, "final_scale is 0"},
                               {"/looks", huge, "looks is 18446744073709551615"},
                               {"/losses/points/1/step", 3, "losses has step 3 after step 1"},
                               {"/losses/points/0/step", 2, "losses has step 2 after step 2"},
                               {"/scales/points/1/scale", -inf, "notes.scales[].scale is -inf"},
                               {"/held_out/points/0/accuracy", 1.5, "notes.held_out[].accuracy is 1.5"},
                               {"/skipped/points/0", 0, "skipped has step 0"},
                               {"/tensors/0/zeros", 9.0, "notes.tensors[].zeros is 9"},
                               {"/tensors/0/amax", nan, "notes.tensors[].amax is nan"},
                               {"/exponents/step", huge, "notes.exponents.step is"},
                               {"/exponents/lowest", -100'000, "notes.exponents.lowest is -100000"},
                               {"/exponents/counts", std::vector<int>(1000), "notes.exponents.counts.size is 1000"}};
  const json good = json::from_cbor(notes_of(somebody, half_a_run()));
  for (const wrong& mistake : all) {
    CAPTURE(mistake.where);
    json forged = good;
    forged["result"].at(json::json_pointer(mistake.where)) = mistake.value;
    const auto bytes = json::to_cbor(forged);
    CHECK_THROWS_MATCHES(read_notes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, somebody),
                         invalid_argument, MessageMatches(ContainsSubstring(mistake.complaint)));
  }
}

TEST_CASE("what notes say of themselves cannot command a terminal") {
  run_identity other = somebody;
  other.task = "\x1b]0;forged\a" + std::string(100'000, 'x');
  try {
    read_notes(notes_of(other, half_a_run()), somebody);
    FAIL("it was not refused");
  } catch (const invalid_argument& refused) {
    const std::string message = refused.what();
    CHECK(message.find('\x1b') == message.npos);
    CHECK(message.size() < 300);
  }
}

TEST_CASE("notes of a long run are of bounded size, and count everything") {
  run_result without_a_break = half_a_run(), with_breaks = without_a_break;
  constexpr std::uint64_t steps = 100'000, far = std::uint64_t{1} << 40;  // the longest numbers of steps
  for (std::uint64_t i = 1; i <= steps; ++i) {
    if (i % 7919 == 0) with_breaks = read_notes(notes_of(somebody, with_breaks), somebody);
    for (run_result* const result : {&without_a_break, &with_breaks}) {
      const double third = static_cast<double>(i) / 3;
      result->steps = far + i;
      result->losses.add({result->steps, third});
      result->held_out.add({result->steps, third, 1 / (third + 1)});
      result->scales.add({result->steps, third});
      if (i % 3 != 0) result->skipped.add(result->steps);
    }
  }
  const std::string notes = notes_of(somebody, with_breaks);
  CHECK(notes.size() + 4096 < max_notes_bytes);  // less than that is left for names of tensors
  const auto shown = json_of(read_notes(notes, somebody)), expected = json_of(without_a_break);
  CHECK(shown["skips"] == 1 + 66'667);
  for (const char* key : {"loss", "steps", "skips", "loss_curve", "held_out_curve", "scale_curve", "skipped_steps"}) {
    CAPTURE(key);
    CHECK(shown[key] == expected[key]);
  }
}

TEST_CASE("a curve keeps all of its points as long as there is room, then evenly some of them, and ever the last") {
  constexpr std::uint64_t most = curve<std::uint64_t>::most;
  curve<std::uint64_t> numbers;
  CHECK(numbers.empty());
  for (std::uint64_t i = 0; i < 10 * most; ++i) {
    numbers.add(i);
    const std::uint64_t step = i < most ? 1 : i < 2 * most ? 2 : i < 4 * most ? 4 : i < 8 * most ? 8 : 16;
    const bool is_extra = i % step != 0;
    REQUIRE(numbers.added() == i + 1);
    REQUIRE(numbers.back() == i);
    REQUIRE(numbers.points().size() == i / step + 1 + (is_extra ? 1 : 0));
    if (i % 5003 != 0 && i % most > 2) continue;
    std::vector<std::uint64_t> expected;
    for (std::uint64_t k = 0; k <= i; k += step) expected.push_back(k);
    if (is_extra) expected.push_back(i);
    REQUIRE(numbers.points() == expected);
  }
}

TEST_CASE("a curve that cannot be one is refused") {
  using numbers = curve<std::uint64_t>;
  CHECK(numbers({1, 2}, 2).points().size() == 2);
  CHECK_THROWS_AS(numbers({1, 2}, 0), invalid_argument);
  CHECK_THROWS_AS(numbers({1, 2}, 3), invalid_argument);
  CHECK_THROWS_AS(numbers({}, std::uint64_t(-1)), invalid_argument);
  CHECK_THROWS_AS(numbers(std::vector<std::uint64_t>(numbers::most + 1), numbers::most + 1), invalid_argument);
}
