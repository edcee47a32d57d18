// SPDX-License-Identifier: Apache-2.0
// syclamp exponents: the exponents of gradients, and which of them FP16 loses with and without a scale.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/commands/commands.hpp"
#include "apps/commands/exponents.hpp"
#include "support/printable.hpp"
#include "support/whole_file.hpp"
#include "syclamp/syclamp.hpp"

namespace syclamp::program {
namespace {

using json = nlohmann::ordered_json;

struct options {
  std::string file, svg_file;
  element_type type = element_type::float32;
  float scale = 1.0f;
  bool as_json = false;
};

/// Numbers that are distributed as gradients often are: magnitudes log-normal round 2^-20.5, with a deviation of 4.5
/// doublings, and some exact zeros. The same on every machine, because no function of the C library is used.
std::vector<float> made_up_sample() {
  constexpr std::size_t elements = 1u << 18;
  constexpr double middle = -20.5, spread = 4.5;
  constexpr int zero_out_of = 32;
  std::mt19937_64 random(1);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<float> values(elements, 0.0f);
  for (float& value : values) {
    double deviate = -6.0;  // the sum of twelve uniform numbers is nearly normal
    for (int i = 0; i < 12; ++i) deviate += uniform();
    const double logarithm = middle + spread * deviate, whole = std::floor(logarithm);
    const double magnitude = std::ldexp(1.0 + (logarithm - whole), static_cast<int>(whole));
    const std::uint64_t chance = random();
    if (chance % zero_out_of != 0) value = static_cast<float>((chance >> 63) != 0 ? -magnitude : magnitude);
  }
  return values;
}

using piece_handler = std::function<void(const void* data, std::size_t elements)>;

/// Calls `handle` for each piece of a file; the first one is the largest.
void read_pieces(const options& options, const piece_handler& handle) {
  constexpr std::size_t piece_elements = 1u << 24;
  const std::size_t size = bytes_per_element(options.type);
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("cannot read " + options.file + ": " + why);
  };
  errno = 0;
  std::ifstream file(options.file, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  if (std::filesystem::is_directory(options.file)) refuse("it is a folder; pass a file");
  std::vector<char> buffer(piece_elements * size);
  std::uint64_t bytes = 0;
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    bytes += got;
    if (got % size != 0)
      refuse(fmt::format("it has {} bytes, which is not a multiple of the {} element size, {} bytes; check --type",
                         bytes, to_string(options.type), size));
    if (got != 0) handle(buffer.data(), got / size);
  }
  if (file.bad()) refuse(std::strerror(errno));
  if (bytes == 0) refuse("the file is empty");
}

/// Memory of the device for one piece of data, and what it is turned into.
class workspace {
 public:
  workspace(const engine& engine, std::size_t elements, element_type type)
      : engine_(engine),
        type_(type),
        data_(engine, elements * bytes_per_element(type)),
        wide_(engine, elements),
        narrow_(engine, elements) {}

  /// Adds a piece to what has been counted so far.
  void count(const void* data, std::size_t elements, exponent_report& report) {
    engine_.queue().memcpy(data_.data(), data, elements * bytes_per_element(type_));
    const tensor_list list(engine_, array_view(data_.data(), elements, type_));
    const inspector inspector(list);
    inspector.run();
    const inspection before = inspector.result();
    report.elements += elements;
    report.zero_count += before.zero_count;
    report.not_finite += before.inf_count + before.nan_count;
    for (fp16_fate& fate : report.fates) add(fate, list, before);
  }

 private:
  void add(fp16_fate& fate, const tensor_list& list, const inspection& before) {
    const std::uint64_t elements = list.elements();
    const tensor_list wide(engine_, array_view(wide_.data(), elements, element_type::float32)),
        narrow(engine_, array_view(narrow_.data(), elements, element_type::float16));
    scale(list, wide, fate.scale);
    scale(list, narrow, fate.scale);
    const inspector look_wide(wide, inspection_level::histogram), look_narrow(narrow);
    look_wide.run();
    look_narrow.run();
    const inspection stored = look_narrow.result();
    const exponent_histogram histogram = look_wide.histogram();
    const float amax = look_wide.result().amax;
    fate.elements += elements;
    fate.zero_count += stored.zero_count;
    fate.subnormal_count += stored.subnormal_count;
    fate.overflows += stored.inf_count - before.inf_count;
    fate.normals += elements - stored.zero_count - stored.subnormal_count - stored.inf_count - stored.nan_count;
    for (std::uint32_t i = 0; i < exponent_histogram::size; ++i) fate.exponents.counts[i] += histogram.counts[i];
    if (std::bit_cast<std::uint32_t>(amax) > std::bit_cast<std::uint32_t>(fate.amax))
      fate.amax = amax;  // NaN counts as the largest
  }

  engine engine_;
  element_type type_;
  device_array<std::byte> data_;
  device_array<float> wide_;
  device_array<std::uint16_t> narrow_;
};

exponent_report count(const options& options) {
  const bool is_sample = options.file.empty();
  exponent_report report{.source = is_sample ? "a made-up sample" : printable(options.file),
                         .type = to_string(options.type)};
  report.fates.push_back({.scale = 1.0f});
  if (options.scale != 1.0f) report.fates.push_back({.scale = options.scale});
  const syclamp::engine engine;
  std::unique_ptr<workspace> space;
  const auto handle = [&](const void* data, std::size_t elements) {
    if (!space) space = std::make_unique<workspace>(engine, elements, options.type);
    space->count(data, elements, report);
  };
  if (is_sample) {
    const std::vector<float> sample = made_up_sample();
    handle(sample.data(), sample.size());
  } else {
    read_pieces(options, handle);
  }
  return report;
}

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json json_of(const fp16_fate& fate) {
  const auto share = [&](std::uint64_t part) { return static_cast<double>(part) / static_cast<double>(fate.elements); };
  json exponents = json::array();
  for (int bin = 0; bin < static_cast<int>(exponent_histogram::size); ++bin)
    if (const std::uint64_t count = fate.exponents.counts[bin]; count != 0)
      exponents.push_back({bin - exponent_histogram::bias, count});
  return {{"scale", fate.scale},
          {"zero", fate.zero_count},
          {"subnormal", fate.subnormal_count},
          {"normal", fate.normals},
          {"overflow", fate.overflows},
          {"zero_share", share(fate.zero_count)},
          {"subnormal_share", share(fate.subnormal_count)},
          {"normal_share", share(fate.normals)},
          {"overflow_share", share(fate.overflows)},
          {"amax", number(fate.amax)},
          {"headroom", number(std::log2(65504.0 / fate.amax))},
          {"exponents", exponents}};
}

json json_of(const exponent_report& report, const options& options) {
  json results = json::array();
  for (const fp16_fate& fate : report.fates) results.push_back(json_of(fate));
  return {{"file", options.file.empty() ? json(nullptr) : json(options.file)},
          {"type", report.type},
          {"elements", report.elements},
          {"zeros", report.zero_count},
          {"not_finite", report.not_finite},
          {"results", results}};
}

void run(const options& options) {
  if (!(options.scale >= 0x1p-126f && std::isfinite(options.scale)))  // also false for NaN
    throw CLI::ValidationError("--scale", "the scale must be from 2^-126 to 3.4028235e38, the largest FP32 number");
  if (!options.svg_file.empty()) need_writable(options.svg_file);
  const exponent_report report = count(options);
  if (!options.svg_file.empty()) write_output(options.svg_file, svg_of(report));
  if (options.as_json) {
    // Names of files may be any bytes; those that are no UTF-8 cannot be in JSON.
    fmt::print("{}\n", json_of(report, options).dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    fmt::print("{}", text_of(report));
  }
}

}  // namespace

void add_exponents_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "exponents",
      "Shows the magnitudes of gradients by powers of two, and which of them become zero, subnormal or Inf in FP16.");
  const auto given = std::make_shared<options>();
  auto* file = command->add_option("--file", given->file, "Raw gradients without a header. Default: a made-up sample")
                   ->type_name("FILE");
  auto* type = command
                   ->add_option_function<std::string>(
                       "--type",
                       [given](const std::string& name) {
                         given->type = *std::ranges::find_if(training_types,
                                                             [&](auto entry) { return to_string(entry) == name; });
                       },
                       "Element type of the file, in this machine's byte order")
                   ->check(CLI::IsMember({"float16", "bfloat16", "float32"}))
                   ->type_name("TYPE");
  file->needs(type);
  type->needs(file);
  command->add_option("--scale", given->scale, "Also show the gradients multiplied by this loss scale")
      ->type_name("S")
      ->default_str("1");
  command->add_option("--svg", given->svg_file, "Write the histogram to this file as SVG")->type_name("FILE");
  command->add_flag("--json", given->as_json,
                    "Print JSON: counts, shares, and [exponent, count] of each bin that is not empty");
  command->footer(
      "Examples:\n"
      "  syclamp exponents --scale 65536\n"
      "  syclamp exponents --file gradients.bin --type float32 --scale 65536 --svg exponents.svg\n\n"
      "Without --file, the numbers are made up: 262144 values, the same in every run. Their magnitudes are log-normal\n"
      "around 2^-20.5, as those of gradients often are. They come from no model.\n"
      "The device multiplies each number by the scale in FP32, rounds it to FP16 as a backward pass would, and "
      "counts.\n"
      "In JSON, the exponent -127 stands for magnitudes below 2^-126, and 128 for values that are not finite in FP32.");
  command->callback([given] { run(*given); });
}

}  // namespace syclamp::program
