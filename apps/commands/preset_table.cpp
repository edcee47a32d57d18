// SPDX-License-Identifier: Apache-2.0
#include "apps/commands/preset_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "syclamp/policy_names.hpp"
#include "syclamp/presets.hpp"

namespace syclamp::program {
namespace {

double backoff_of(const scaling_policy& policy) {
  return policy.replay.backoff_by_growth ? 1.0 / policy.growth_factor : policy.backoff_factor;
}

/// A number as people write it: large and small powers of two as such.
std::string short_number(double value) {
  int exponent = 0;
  const bool is_power = std::frexp(value, &exponent) == 0.5;
  if (value == std::numeric_limits<float>::max()) return "FLT_MAX";
  if (is_power && std::abs(exponent - 1) >= 10) return fmt::format("2^{}", exponent - 1);
  return fmt::format("{}", value);
}

using row = std::vector<std::string>;

row numbers_of(const std::string& name, const scaling_policy& policy) {
  const bool counts = policy.growth_mode == growth_kind::interval,
             is_statistical = policy.growth_mode == growth_kind::log_max;
  const std::string growth = counts ? short_number(policy.growth_factor)
                             : is_statistical
                                 ? "log_max"
                                 : fmt::format("{0}, later {0}^(1/interval)", short_number(policy.growth_factor));
  return {name,
          short_number(policy.init_scale),
          growth,
          is_statistical ? "" : short_number(backoff_of(policy)),
          is_statistical ? "" : fmt::format("{}", policy.growth_interval),
          counts ? to_string(policy.replay.growth_test) : "",
          short_number(policy.min),
          short_number(policy.max),
          to_string(policy.replay.bounds),
          policy.hysteresis == 1 ? "" : fmt::format("{} {}", policy.hysteresis, to_string(policy.hysteresis_mode))};
}

/// A Markdown table with aligned columns, so that it is readable in a terminal.
std::string table_of(const std::vector<row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  const auto line_of = [&](const row& cells, char fill) {
    std::string line = "|";
    for (std::size_t i = 0; i < cells.size(); ++i)
      line += fmt::format(" {}{} |", cells[i], std::string(widths[i] - cells[i].size(), fill));
    return line + '\n';
  };
  std::string text = line_of(rows.front(), ' ') + line_of(row(widths.size()), '-');
  for (std::size_t i = 1; i < rows.size(); ++i) text += line_of(rows[i], ' ');
  return text;
}

}  // namespace

nlohmann::ordered_json preset_list() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const preset_info& preset : scaling_presets()) {
    const scaling_policy policy = scaling_preset(preset.name);
    list.push_back({{"name", preset.name},
                    {"replays", preset.framework},
                    {"note", preset.note},
                    {"init", policy.init_scale},
                    {"growth", policy.growth_factor},
                    {"backoff", backoff_of(policy)},
                    {"interval", policy.growth_interval},
                    {"min", policy.min},
                    {"max", policy.max},
                    {"hysteresis", policy.hysteresis},
                    {"counting", to_string(policy.hysteresis_mode)},
                    {"grow", to_string(policy.growth_mode)},
                    {"test", to_string(policy.replay.growth_test)},
                    {"limits", to_string(policy.replay.bounds)},
                    {"one_step_late", policy.replay.one_step_late},
                    {"nan_patience", policy.nan_patience}});
  }
  return list;
}

std::string preset_tables() {
  std::vector<row> numbers{
      {"preset", "init", "growth", "backoff", "interval", "test", "min", "max", "limits", "hysteresis"}};
  std::vector<row> words{{"preset", "replays", "differences and missing defaults"}};
  for (const preset_info& preset : scaling_presets()) {
    numbers.push_back(numbers_of(preset.name, scaling_preset(preset.name)));
    words.push_back({preset.name, preset.framework, preset.note});
  }
  return table_of(numbers) + '\n' + table_of(words);
}

}  // namespace syclamp::program
