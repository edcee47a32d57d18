// SPDX-License-Identifier: Apache-2.0
// A histogram of exponents as text and as SVG. Whole numbers only, so that a picture is the same on every machine.
#include <algorithm>
#include <cmath>
#include <ranges>

#include <fmt/format.h>

#include "apps/commands/exponents.hpp"

namespace syclamp::program {
namespace {

/// The bins that are shown; what lies beyond is shown in the outermost ones.
constexpr int lowest = -40, highest = 20;

struct zone_look {
  const char* name;     ///< in pictures
  const char* meaning;  ///< in text
  char letter;          ///< that bars of text are made of
  std::uint64_t fp16_fate::* count;
};
constexpr zone_look zones[] = {{"zero", "zero", '.', &fp16_fate::zero_count},
                               {"subnormal", "subnormal, with fewer bits", '-', &fp16_fate::subnormal_count},
                               {"normal", "normal", '#', &fp16_fate::normals},
                               {"overflow", "Inf, beyond the range", '!', &fp16_fate::overflows}};
const zone_look& look_of(int exponent) { return zones[static_cast<std::size_t>(zone_of(exponent))]; }

/// What a histogram shows, one number for each exponent from `lowest` to `highest`.
std::vector<std::uint64_t> shown(const fp16_fate& fate, std::uint64_t not_finite) {
  std::vector<std::uint64_t> bars(highest - lowest + 1, 0);
  for (int bin = 0; bin < static_cast<int>(exponent_histogram::size); ++bin)
    bars[std::clamp(bin - exponent_histogram::bias, lowest, highest) - lowest] += fate.exponents.counts[bin];
  bars.back() -= not_finite;  // what was not finite to begin with has no size
  return bars;
}

std::uint64_t length_of(std::uint64_t count, std::uint64_t most, std::uint64_t longest) {
  if (count == 0) return 0;
  return std::max<std::uint64_t>(1, (count * longest + most / 2) / most);
}

std::string name_of_bin(int exponent) {
  if (exponent == lowest) return fmt::format("<2^{}", lowest + 1);
  return fmt::format("{}2^{}", exponent == highest ? ">=" : "", exponent);
}

std::string name_of_scale(float scale) {
  int exponent = 0;
  const bool is_power = std::frexp(scale, &exponent) == 0.5f;
  return is_power && scale != 1.0f ? fmt::format("2^{}", exponent - 1) : fmt::format("{}", scale);
}

// --- SVG ---

constexpr int bar_step = 11, bar_width = 9, bar_height = 104, left = 24, panel_height = 196, top = 44;
constexpr int width = 2 * left + bar_step * (highest - lowest + 1);

/// 2^exponent with a raised exponent.
std::string power_of_two(int exponent) {
  constexpr const char* raised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "2⁻" : "2";
  for (const char digit : fmt::format("{}", std::abs(exponent))) text += raised[digit - '0'];
  return text;
}

std::string raised(const std::string& scale) {
  return scale.starts_with("2^") ? power_of_two(std::stoi(scale.substr(2))) : scale;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char letter : text)
    safe += letter == '&' ? "&amp;" : letter == '<' ? "&lt;" : letter == '>' ? "&gt;" : std::string(1, letter);
  return safe;
}

int x_of(int exponent) { return left + bar_step * (exponent - lowest); }

std::string svg_panel(const fp16_fate& fate, std::uint64_t not_finite, int y) {
  const int base = y + 40 + bar_height;
  std::string text =
      fmt::format("  <text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", left, y,
                  fate.scale == 1.0f ? "not scaled" : fmt::format("scaled by {}", raised(name_of_scale(fate.scale))));
  int x = left + 110;
  for (const zone_look& zone : zones) {
    text += fmt::format("  <rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"10\" height=\"10\"/>\n", zone.name, x, y - 9);
    text += fmt::format("  <text x=\"{}\" y=\"{}\">{} {}</text>\n", x + 15, y, percent(fate.*zone.count, fate.elements),
                        zone.name);
    x += 145;
  }
  const auto bars = shown(fate, not_finite);
  const std::uint64_t most = std::max<std::uint64_t>(1, std::ranges::max(bars));
  for (int exponent = lowest; exponent <= highest; ++exponent) {
    const std::uint64_t height = length_of(bars[exponent - lowest], most, bar_height);
    if (height != 0)
      text +=
          fmt::format("  <rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n", look_of(exponent).name,
                      x_of(exponent) + 1, base - static_cast<int>(height), bar_width, height);
  }
  text += fmt::format("  <line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", left, base, width - left, base);
  for (int exponent = lowest; exponent <= highest; exponent += 8)
    text += fmt::format("  <text class=\"tick\" x=\"{}\" y=\"{}\">{}</text>\n", x_of(exponent), base + 16,
                        power_of_two(exponent));
  for (const fp16_border& border : fp16_borders) {
    text += fmt::format("  <line class=\"border\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\"/>\n",
                        x_of(border.exponent), y + 20, base);
    // Labels of neighbours point away from each other.
    const bool is_right = border.exponent == -14;
    text += fmt::format("  <text class=\"{}\" x=\"{}\" y=\"{}\">{} {}</text>\n", is_right ? "right" : "label",
                        x_of(border.exponent) + (is_right ? 3 : -3), y + 30, border.meaning, border.value);
  }
  return text;
}

constexpr const char* svg_style = R"(  <style>
    text { font: 12px system-ui, sans-serif; fill: #24292f; }
    .title { font-weight: bold; }
    .tick, .label, .right { font-size: 10px; }
    .tick { text-anchor: middle; }
    .label { text-anchor: end; }
    .background { fill: #ffffff; stroke: #d0d7de; }
    line { stroke: #57606a; }
    .border { stroke-dasharray: 3 3; }
    .zero { fill: #cf222e; }
    .subnormal { fill: #d4a72c; }
    .normal { fill: #2f81b7; }
    .overflow { fill: #8250df; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3; }
      .background { fill: #161b22; stroke: #30363d; }
      line { stroke: #8b949e; }
    }
  </style>
)";

}  // namespace

std::string percent(std::uint64_t part, std::uint64_t all) {
  if (part == 0) return "0 %";
  const double share = 100.0 * static_cast<double>(part) / static_cast<double>(all);
  return share < 0.01 ? "<0.01 %" : fmt::format("{:.2f} %", share);
}

std::string text_of(const exponent_report& report) {
  const auto& fates = report.fates;
  std::string text = fmt::format("{} numbers, {}, of {}", report.elements, report.type, report.source);
  text += fmt::format("; {} were zero before", percent(report.zero_count, report.elements));
  if (report.not_finite != 0) text += fmt::format(", {} Inf or NaN", percent(report.not_finite, report.elements));
  text += fmt::format("\n\n{:<30}", "as FP16, with the scale");
  for (const fp16_fate& fate : fates) text += fmt::format("{:>12}", name_of_scale(fate.scale));
  for (const zone_look& zone : zones) {
    text += fmt::format("\n  {} {:<26}", zone.letter, zone.meaning);
    for (const fp16_fate& fate : fates) text += fmt::format("{:>12}", percent(fate.*zone.count, fate.elements));
  }
  text += "\n\n";

  std::vector<std::vector<std::uint64_t>> bars;
  for (const fp16_fate& fate : fates) bars.push_back(shown(fate, report.not_finite));
  const auto is_empty = [&](int exponent) {
    return std::ranges::all_of(bars, [&](const auto& entry) { return entry[exponent - lowest] == 0; });
  };
  int from = lowest, to = highest;
  while (from < -25 && is_empty(from)) ++from;
  while (to > 16 && is_empty(to)) --to;
  const int longest = fates.size() == 1 ? 64 : 31;
  for (int exponent = to; exponent >= from; --exponent) {
    std::string line = fmt::format("{:>7} ", name_of_bin(exponent));
    for (const auto& entry : bars) {
      const std::uint64_t most = std::max<std::uint64_t>(1, std::ranges::max(entry));
      const std::uint64_t length = length_of(entry[exponent - lowest], most, static_cast<std::uint64_t>(longest));
      line += fmt::format("|{:<{}} ", std::string(length, look_of(exponent).letter), longest);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    for (const fp16_border& border : fp16_borders)
      if (border.exponent == exponent) text += fmt::format("{:->8}  {} FP16: {}\n", "", border.meaning, border.value);
  }
  return text;
}

std::string svg_of(const exponent_report& report) {
  const int height = top + panel_height * static_cast<int>(report.fates.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n",
      width, height);
  const std::string title = fmt::format("Exponents of {} numbers of {}, and what becomes of them as FP16",
                                        report.elements, escaped(report.source));
  text += fmt::format("  <title>{}</title>\n{}", title, svg_style);
  text += fmt::format("  <rect class=\"background\" x=\"0.5\" y=\"0.5\" width=\"{}\" height=\"{}\" rx=\"6\"/>\n",
                      width - 1, height - 1);
  text += fmt::format("  <text x=\"{}\" y=\"24\">{}</text>\n", left, title);
  int y = top + 10;
  for (const fp16_fate& fate : report.fates) {
    text += svg_panel(fate, report.not_finite, y);
    y += panel_height;
  }
  return text + "</svg>\n";
}

}  // namespace syclamp::program
