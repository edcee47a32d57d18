// SPDX-License-Identifier: Apache-2.0
// syclamp exponents: how large gradients are, and what FP16 makes of them with and without a scale.
#include <algorithm>
#include <bit>
#include <cmath>
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
/// doublings, and some exact zeros. The same on every machine: no function of the C library has a say in it.
std::vector<float> made_up_sample() {
  constexpr std::size_t elements = 1u << 18;
  constexpr double middle = -20.5, spread = 4.5;
  constexpr int zero_out_of = 32;
  std::mt19937_64 random(1);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::vector<float> values(elements, 0.0f);
  for (float& value : values) {
    double deviate = -6.0;  // twelve uniform numbers add up to nearly a normal one
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
void read_pieces(const options& asked, const piece_handler& handle) {
  constexpr std::size_t piece_elements = 1u << 24;
  const std::size_t size = size_of(asked.type);
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error("cannot read " + asked.file + ": " + why);
  };
  errno = 0;
  std::ifstream file(asked.file, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  if (std::filesystem::is_directory(asked.file)) refuse("it is a folder");
  std::vector<char> buffer(piece_elements * size);
  std::uint64_t bytes = 0;
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const auto got = static_cast<std::size_t>(file.gcount());
    bytes += got;
    if (got % size != 0)
      refuse(fmt::format("it has {} bytes, which is no whole number of {} elements of {} bytes", bytes,
                         name_of(asked.type), size));
    if (got != 0) handle(buffer.data(), got / size);
  }
  if (file.bad()) refuse(std::strerror(errno));
  if (bytes == 0) refuse("it is empty");
}

/// Memory of the device for one piece of data, and what it is turned into.
class workspace {
 public:
  workspace(const engine& on, std::size_t elements, element_type type)
      : on_(on),
        type_(type),
        data_(allocate(elements * size_of(type))),
        wide_(allocate(elements * sizeof(float))),
        narrow_(allocate(elements * sizeof(std::uint16_t))),
        scale_(allocate(sizeof(float))) {}

  /// Adds a piece to what has been counted so far.
  void count(const void* data, std::size_t elements, exponent_report& report) {
    on_.queue().memcpy(data_.get(), data, elements * size_of(type_));
    const tensor_list list(on_, array_view(data_.get(), elements, type_));
    const inspector look(list);
    look();
    const inspection before = look.result();
    report.elements += elements;
    report.zeros += before.zeros;
    report.not_finite += before.infs + before.nans;
    for (fp16_fate& fate : report.fates) add(fate, list, before);
  }

 private:
  struct deleter {
    engine on;
    void operator()(void* memory) const { sycl::free(memory, on.queue()); }
  };
  using memory = std::unique_ptr<void, deleter>;

  memory allocate(std::size_t bytes) const {
    memory fresh(sycl::malloc_device(bytes, on_.queue()), deleter{on_});
    if (!fresh) throw std::runtime_error(fmt::format("the device has no {} bytes of memory left", bytes));
    return fresh;
  }

  void add(fp16_fate& fate, const tensor_list& list, const inspection& before) {
    const std::uint64_t elements = list.elements();
    const tensor_list wide(on_, array_view(wide_.get(), elements, element_type::float32)),
        narrow(on_, array_view(narrow_.get(), elements, element_type::float16));
    const auto* factor = static_cast<const float*>(scale_.get());
    on_.queue().memcpy(scale_.get(), &fate.scale, sizeof fate.scale);
    scale(list, wide, factor);
    scale(list, narrow, factor);
    const inspector look_wide(wide, detail::histogram), look_narrow(narrow);
    look_wide();
    look_narrow();
    const inspection stored = look_narrow.result();
    const exponent_histogram histogram = look_wide.histogram();
    const float amax = look_wide.result().amax;
    fate.elements += elements;
    fate.zeros += stored.zeros;
    fate.subnormals += stored.subnormals;
    fate.overflows += stored.infs - before.infs;
    fate.normals += elements - stored.zeros - stored.subnormals - stored.infs - stored.nans;
    for (std::uint32_t i = 0; i < exponent_histogram::size; ++i) fate.exponents.counts[i] += histogram.counts[i];
    if (std::bit_cast<std::uint32_t>(amax) > std::bit_cast<std::uint32_t>(fate.amax)) fate.amax = amax;  // NaN is most
  }

  engine on_;
  element_type type_;
  memory data_, wide_, narrow_, scale_;
};

exponent_report count(const options& asked) {
  const bool is_sample = asked.file.empty();
  exponent_report report{.source = is_sample ? "a made-up sample" : printable(asked.file), .type = name_of(asked.type)};
  report.fates.push_back({.scale = 1.0f});
  if (asked.scale != 1.0f) report.fates.push_back({.scale = asked.scale});
  const engine on;
  std::unique_ptr<workspace> space;
  const auto handle = [&](const void* data, std::size_t elements) {
    if (!space) space = std::make_unique<workspace>(on, elements, asked.type);
    space->count(data, elements, report);
  };
  if (is_sample) {
    const std::vector<float> sample = made_up_sample();
    handle(sample.data(), sample.size());
  } else {
    read_pieces(asked, handle);
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
          {"zero", fate.zeros},
          {"subnormal", fate.subnormals},
          {"normal", fate.normals},
          {"overflow", fate.overflows},
          {"zero_share", share(fate.zeros)},
          {"subnormal_share", share(fate.subnormals)},
          {"normal_share", share(fate.normals)},
          {"overflow_share", share(fate.overflows)},
          {"amax", number(fate.amax)},
          {"headroom", number(std::log2(65504.0 / fate.amax))},
          {"exponents", exponents}};
}

json json_of(const exponent_report& report, const options& asked) {
  json results = json::array();
  for (const fp16_fate& fate : report.fates) results.push_back(json_of(fate));
  return {{"file", asked.file.empty() ? json(nullptr) : json(asked.file)},
          {"type", report.type},
          {"elements", report.elements},
          {"zeros", report.zeros},
          {"not_finite", report.not_finite},
          {"results", results}};
}

void run(const options& asked) {
  if (!(asked.scale >= 0x1p-126f && std::isfinite(asked.scale)))  // a NaN is not, either
    throw CLI::ValidationError("--scale", "a scale lies between 2^-126 and the largest FP32, 3.4028235e38");
  if (!asked.svg_file.empty()) need_writable(asked.svg_file);
  const exponent_report report = count(asked);
  if (!asked.svg_file.empty()) write_output(asked.svg_file, svg_of(report));
  if (asked.as_json) {
    // Names of files may be any bytes; those that are no UTF-8 cannot be in JSON.
    fmt::print("{}\n", json_of(report, asked).dump(2, ' ', false, json::error_handler_t::replace));
  } else {
    fmt::print("{}", text_of(report));
  }
}

}  // namespace

void add_exponents_command(CLI::App& program) {
  CLI::App* command = program.add_subcommand(
      "exponents", "Shows how large gradients are, by powers of two, and what becomes of them when stored as FP16.");
  auto asked = std::make_shared<options>();
  auto* file = command->add_option("--file", asked->file,
                                   "Gradients as they lie in memory, without a header; a made-up sample if not given");
  auto* type = command
                   ->add_option_function<std::string>(
                       "--type",
                       [asked](const std::string& name) {
                         asked->type =
                             *std::ranges::find_if(training_types, [&](auto one) { return name_of(one) == name; });
                       },
                       "How they are stored: float16, bfloat16 or float32, in this machine's byte order")
                   ->check(CLI::IsMember({"float16", "bfloat16", "float32"}))
                   ->type_name("TYPE");
  file->needs(type);
  type->needs(file);
  command->add_option("--scale", asked->scale, "Show also what becomes of them with this loss scale")
      ->type_name("S")
      ->default_str("1");
  command->add_option("--svg", asked->svg_file, "Write the picture to this file, as SVG");
  command->add_flag("--json", asked->as_json, "Print JSON: counts, shares, and [exponent, count] of each full bin");
  command->footer(
      "Example: syclamp exponents --scale 65536\n\n"
      "Without --file the numbers are made up: 262144 of them, always the same, with magnitudes that are log-normal\n"
      "round 2^-20.5, as those of gradients often are. They come from no model. Exponents and shares are counted by\n"
      "the device: numbers are multiplied by the scale in FP32 and rounded to FP16, as a backward pass would. In "
      "JSON,\n"
      "the exponent -127 stands for what is below 2^-126, and 128 for what is not finite in FP32.");
  command->callback([asked] { run(*asked); });
}

}  // namespace syclamp::program
