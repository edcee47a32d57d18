// SPDX-License-Identifier: Apache-2.0
// JSON from anywhere: what is too deep, too large, ambiguous or not JSON is refused before it costs anything.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace syclamp {

using json = nlohmann::ordered_json;

inline constexpr std::size_t most_elements = std::size_t{1} << 20;  ///< of an array
inline constexpr std::size_t most_keys = 256;                       ///< of an object
inline constexpr std::size_t deepest_json = 16;

/// Takes each object of the array `key` of the outermost object, with what has been read of the latter; the array
/// itself is left empty. So long arrays need no memory.
struct element_handler {
  std::string key;
  std::function<void(const json& so_far, json&& element)> take;
};

/// \throws invalid_argument that begins with `what`, the thing that is read
json read_json(std::string_view text, const std::string& what, const element_handler& handler = {});

/// The same from CBOR, of which only what JSON needs is understood.
json read_cbor(std::string_view bytes, const std::string& what, const element_handler& handler = {});

/// A value for messages: short, on one line.
std::string shown(const json& value);

}  // namespace syclamp
