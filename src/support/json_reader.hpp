// SPDX-License-Identifier: Apache-2.0
// JSON from anywhere: what is too deep, too large, ambiguous or not JSON is refused before it costs anything.
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

/// Of everything that is held at once. A value of one byte of CBOR takes up to eighty bytes of memory, so a limit of
/// bytes alone would not do; with this one, a document costs its texts and 160 MB (the worst that was found: arrays of
/// one byte string each). The largest honest one is the head of a checkpoint: 27 values for a group of parameters, so
/// 50 000 tensors that are a group each are 1.4 million.
inline constexpr std::size_t max_values = std::size_t{1} << 21;

/// Takes each object of some arrays of the outermost object, with the array's key and what has been read so far of the
/// outermost object; the arrays themselves are left empty. So long arrays need no memory.
struct element_handler {
  std::vector<std::string> keys = {};
  std::function<void(const std::string& key, const json& so_far, json&& element)> take = {};
};

/// \throws invalid_argument that begins with `what`, the thing that is read
json read_json(std::string_view text, const std::string& subject, const element_handler& handler = {});

/// The same from CBOR, of which only what JSON needs is understood, and byte strings.
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
