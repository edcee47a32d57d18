// SPDX-License-Identifier: Apache-2.0
// The data of `syclamp train`: the same on every call, and refused if it is not what it should be.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "apps/training/random.hpp"
#include "apps/training/task.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace syclamp;
using namespace syclamp::training;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr int rows = 1797, learnt = 1440;

/// Line number i of a file that is as it should be: pixels and a label that tell the line.
std::string line_of(int i) {
  std::string line;
  for (int pixel = 0; pixel < 64; ++pixel) line += std::to_string((i + pixel) % 17) + ",";
  return line + std::to_string(i % 10) + "\n";
}

std::string whole_file() {
  std::string text;
  for (int i = 0; i < rows; ++i) text += line_of(i);
  return text;
}

}  // namespace

TEST_CASE("digits are read as they are, and each is either learnt or held out, in an order that never changes") {
  const temporary_folder folder;
  const auto file = folder.path() / "digits.csv";
  std::ofstream(file) << whole_file();
  const task digits = digits_task(file), again = digits_task(file);
  REQUIRE(digits.training.count == learnt);
  REQUIRE(digits.held_out.count == rows - learnt);
  CHECK(digits.is_classifier());
  CHECK(digits.steps_per_epoch() * digits.batch == learnt);  // no sample is left out
  CHECK(digits.training.inputs == again.training.inputs);
  CHECK(digits.held_out.labels == again.held_out.labels);

  // The first pixel and the label together tell the number of a line modulo 170.
  std::vector<int> expected, found;
  for (int i = 0; i < rows; ++i) expected.push_back(i % 17 * 10 + i % 10);
  std::size_t wrong = 0;
  for (const samples* part : {&digits.training, &digits.held_out})
    for (std::size_t row = 0; row < part->count; ++row) {
      const float* pixels = part->inputs.data() + row * 64;
      const int first = static_cast<int>((pixels[0] + 1.0f) * 8.0f);
      for (int pixel = 0; pixel < 64; ++pixel)
        wrong += pixels[pixel] != static_cast<float>((first + pixel) % 17) / 8.0f - 1.0f;
      found.push_back(first * 10 + static_cast<int>(part->labels[row]));
    }
  CHECK(wrong == 0);
  CHECK(found != expected);  // neighbours in the file are by the same writer
  std::ranges::sort(expected);
  std::ranges::sort(found);
  CHECK(found == expected);
}

TEST_CASE("files of digits that are not whole are refused, with the line and the remedy") {
  const temporary_folder folder;
  const auto file = folder.path() / "digits.csv";
  const auto refuses = [&](const std::string& text, const std::string& why) {
    std::ofstream(file, std::ios::binary) << text;
    CAPTURE(why);
    CHECK_THROWS_MATCHES(
        digits_task(file), file_error,
        MessageMatches(ContainsSubstring(why) && ContainsSubstring(file.string()) && ContainsSubstring("./run setup")));
  };
  const std::string whole = whole_file(), first = line_of(0);
  refuses("", "0 lines");
  refuses(whole.substr(0, whole.size() - line_of(rows - 1).size()), "1796 lines");
  refuses(whole.substr(0, whole.size() - 3), "line 1797");
  refuses(whole + first, "more than 1797");
  refuses("17" + whole.substr(1), "column 1 of line 1 ");
  refuses("-1" + whole.substr(1), "column 1 of line 1 ");
  refuses("x" + whole.substr(1), "column 1 of line 1 ");
  refuses(" " + whole, "column 1 of line 1 ");
  refuses("4294967296" + whole.substr(1), "column 1 of line 1 ");
  refuses(first.substr(0, first.size() - 2) + "10\n" + whole.substr(first.size()), "column 65 of line 1 ");
  refuses(first.substr(0, first.size() - 1) + ",1\n" + whole.substr(first.size()), "column 65 of line 1 ");
  refuses(std::string(1, '\0') + whole, "column 1 of line 1 ");
  CHECK_THROWS_MATCHES(digits_task(folder.path() / "none"), file_error,
                       MessageMatches(ContainsSubstring("No such file") && ContainsSubstring("./run setup")));
  CHECK_THROWS_AS(digits_task(folder.path()), error);
  CHECK_THROWS_MATCHES(digits_task("/dev/zero"), file_error,
                       MessageMatches(ContainsSubstring("more than 1048576 bytes")));
}

TEST_CASE("the waves of field are what their parameters say") {
  const task field = field_task(8);
  REQUIRE(field.training.count == 32);
  REQUIRE(field.held_out.count == 2);
  REQUIRE(field.training.targets.size() == 32 * 4096);
  const double low[] = {-1.0, 0.25, 0.25, 2.0, 0.0, 0.5, 0.0, 0.0};
  const double high[] = {-0.5, 0.75, 0.75, 3.0, 2.0, 1.5, 1.0, std::numbers::pi};
  const auto wave = [&](const float* inputs, std::size_t point) {
    double p[8];
    for (int i = 0; i < 8; ++i) p[i] = low[i] + (static_cast<double>(inputs[i]) + 1) / 2 * (high[i] - low[i]);
    const auto place = [&](std::size_t index) { return (static_cast<double>(index % 16) + 0.5) / 16; };
    const double distance = std::hypot(place(point / 256) - p[0], place(point / 16) - p[1], place(point) - p[2]);
    return std::exp(-p[4] * p[6]) * std::cos(p[3] * (distance - p[5] * p[6]) + p[7]);
  };
  // FP32: inputs, distance and phase are rounded (a phase is below 12, half a step of which is 5e-7).
  double worst = 0;
  for (const samples* part : {&field.training, &field.held_out})
    for (std::size_t i = 0; i < part->targets.size(); ++i)
      worst = std::max(
          worst, std::abs(wave(part->inputs.data() + i / 4096 * 8, i % 4096) - static_cast<double>(part->targets[i])));
  CHECK(worst < 4e-6);
  for (const float value : field.training.inputs) REQUIRE((value >= -1.0f && value < 1.0f));
}

TEST_CASE("data does not change from call to call, and the held-out samples are others") {
  const task task = field_task(4), two = field_task(4);
  CHECK(task.training.inputs == two.training.inputs);
  CHECK(task.training.targets == two.training.targets);
  CHECK(task.held_out.targets == two.held_out.targets);
  CHECK(task.held_out.inputs[0] != task.training.inputs[0]);
}

TEST_CASE("permutations hold every number once, and are a function of seed and stream") {
  const auto order = random_numbers(1, 2).permutation(1000);
  std::vector<bool> used(1000);
  for (const auto i : order) used.at(i) = true;
  CHECK(used == std::vector<bool>(1000, true));
  CHECK(order == random_numbers(1, 2).permutation(1000));
  CHECK(order != random_numbers(1, 3).permutation(1000));
  CHECK(order != random_numbers(2, 2).permutation(1000));
}
