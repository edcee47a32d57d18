// SPDX-License-Identifier: Apache-2.0
// The task `digits`. Its file comes from elsewhere: every line of it is checked.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "apps/training/random.hpp"
#include "apps/training/task.hpp"

namespace syclamp::training {
namespace {

constexpr std::uint64_t pixels = 64, classes = 10, rows = 1797, held_out_rows = 357;
constexpr unsigned brightest = 16;
constexpr std::uint64_t split_seed = 20;  // not the seed of a run: every run has the same samples

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw file_error(fmt::format(
      "cannot use {}: {}; run ./run setup to download it again, or pass another file with --data", file.string(), why));
}

/// Reads the whole file, with a limit, because a wrong path may lead to an endless file.
std::string text_of(const std::filesystem::path& file) {
  constexpr std::size_t max_bytes = 1u << 20;  // four times the expected size
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) refuse(file, std::strerror(errno));
  std::string text(max_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || std::filesystem::is_directory(file)) refuse(file, "it cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > max_bytes) refuse(file, fmt::format("it has more than {} bytes", max_bytes));
  return text;
}

/// Numbers of a line, all of them in their range.
void read_line(std::string_view line, std::uint64_t number, const std::filesystem::path& file, samples& target) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::uint64_t column = 0; column <= pixels; ++column) {
    const unsigned most = column < pixels ? brightest : classes - 1;
    unsigned value = 0;
    const auto [after, problem] = std::from_chars(at, end, value);
    const bool is_last = column == pixels;
    if (problem != std::errc{} || value > most || (is_last ? after != end : after == end || *after != ','))
      refuse(file,
             fmt::format("column {} of line {} is not a number from 0 to {}, or the line does not have {} columns",
                         column + 1, number, most, pixels + 1));
    if (is_last) {
      target.labels.push_back(value);
    } else {
      target.inputs.push_back(static_cast<float>(value) / (brightest / 2.0f) - 1.0f);
    }
    at = after + 1;
  }
  ++target.count;
}

samples read_file(const std::filesystem::path& file) {
  samples all;
  std::istringstream stream(text_of(file));
  for (std::string line; std::getline(stream, line);) {
    if (all.count == rows) refuse(file, fmt::format("it has more than {} lines", rows));
    if (!line.empty() && line.back() == '\r') line.pop_back();
    read_line(line, all.count + 1, file, all);
  }
  if (all.count != rows) refuse(file, fmt::format("it has {} lines instead of {}", all.count, rows));
  return all;
}

/// Samples to learn from, and held-out ones. Neighbours in the file were written by the same person, and the last
/// writers appear nowhere else. So the samples are shuffled first, always in the same way.
std::pair<samples, samples> split(const samples& all) {
  samples training, held_out;
  const std::vector<std::uint64_t> order = random_numbers(split_seed, 0).permutation(all.count);
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    samples& part = i < rows - held_out_rows ? training : held_out;
    const auto pixel = all.inputs.begin() + static_cast<std::ptrdiff_t>(order[i] * pixels);
    part.inputs.insert(part.inputs.end(), pixel, pixel + pixels);
    part.labels.push_back(all.labels[order[i]]);
    ++part.count;
  }
  return {training, held_out};
}

}  // namespace

task digits_task(const std::filesystem::path& file, std::uint64_t batch) {
  task digits{.name = "digits",
              .model = {.widths = {pixels, 256, 256, classes}},
              .batch = 96,  // 15 batches are an epoch
              .epochs = 30,
              .optimizer = {.lr = 2e-3},
              .schedule = {.kind = lr_schedule::shape::decay, .gamma = 0.5f, .warm_up = 10, .steps = 150}};
  if (batch != 0) digits.batch = batch;
  std::tie(digits.training, digits.held_out) = split(read_file(file));
  if (digits.batch > digits.training.count)
    throw invalid_argument(fmt::format("train: --batch is {}; it must be at most the number of samples, {}", batch,
                                       digits.training.count));
  return digits;
}

}  // namespace syclamp::training
