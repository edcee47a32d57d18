// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace syclamp::program {

/// All presets with their numbers: an array of objects.
nlohmann::ordered_json preset_list();

/// The same as two Markdown tables: the numbers, and the framework that each preset replays. docs/presets.md shows
/// them.
std::string preset_tables();

}  // namespace syclamp::program
