// SPDX-License-Identifier: Apache-2.0
// Reads JSON from untrusted sources: input that is too deep, too large, ambiguous or not JSON is rejected early.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

using json = nlohmann::ordered_json;

inline constexpr std::size_t max_elements = std::size_t{1} << 20;  ///< of an array
inline constexpr std::size_t max_keys = 256;                       ///< of an object
inline constexpr std::size_t deepest_json = 16;

/// Limit of values held at once. A CBOR value of one byte takes up to 80 bytes of memory, so a limit in bytes would not
/// be enough. With this limit, a document takes the size of its texts plus at most 160 MB (worst case found: arrays of
/// one byte string each). The largest valid document is the head of a checkpoint, with 27 values per parameter
/// group: 1.4 million for 50 000 groups.
inline constexpr std::size_t max_values = std::size_t{1} << 21;

/// Receives each object of some arrays of the outermost object, with the array's key and the part of the outermost
/// object read so far. The arrays themselves stay empty, so long arrays need no memory.
struct element_handler {
  std::vector<std::string> keys = {};
  std::function<void(const std::string& key, const json& so_far, json&& element)> take = {};
};

/// \throws invalid_argument that begins with `what`, the thing that is read
json read_json(std::string_view text, const std::string& subject, const element_handler& handler = {});

/// The same from CBOR. Accepts only the types of JSON, and byte strings.
json read_cbor(std::string_view bytes, const std::string& subject, const element_handler& handler = {});

/// What the value of a member is.
enum class member_kind {
  null,
  number,  ///< as it was written, so that it can be rounded once, to any type
  text,    ///< without its quotes
  other,   ///< true, false, an array or an object
};

/// Takes objects that hold numbers and texts, one by one.
struct object_handler {
  std::function<void(std::size_t line)> begin;  ///< lines count from 1
  std::function<void(const std::string& key, member_kind kind, std::string value)> member;
  std::function<void()> end;
};

/// Reads JSON lines, or an array of objects. An object may go over several lines, and is never held as a whole.
/// \throws invalid_argument that begins with `what`, the thing that is read, and the line
void read_objects(std::string_view text, const std::string& subject, const object_handler& handler);

std::string to_cbor(const json& document);

/// How many values a document has, itself among them: what `max_values` is the limit of.
std::size_t values_in(const json& document);

/// A value for messages: short, on one line.
std::string shown(const json& value);

}  // namespace SYCLAMP_NAMESPACE
