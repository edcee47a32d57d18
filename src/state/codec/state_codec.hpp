// SPDX-License-Identifier: Apache-2.0
// Converts values of a state to JSON and back. Messages name the path of a wrong value, which begins with the name of
// the document. The version of the file decides which fields it has.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "state/codec/enum_names.hpp"
#include "state/codec/state_fields.hpp"
#include "support/json_reader.hpp"
#include "syclamp/error.hpp"

namespace syclamp::state_codec {

template <typename Struct>
json encode_fields(const Struct& from);

template <typename Value>
inline constexpr bool is_list = false;
template <typename Element>
inline constexpr bool is_list<std::vector<Element>> = true;

/// Inf and NaN as texts: JSON has no numbers for them.
template <typename Real>
json encode_real(Real value) {
  const char* sign = std::signbit(value) ? "-" : "";
  if (std::isnan(value)) return fmt::format("{}nan", sign);
  if (std::isinf(value)) return fmt::format("{}inf", sign);
  return value;
}

template <typename Value>
json encode(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return to_string(value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    return encode_real(value);
  } else if constexpr (is_list<Value>) {
    json all = json::array();
    for (const auto& entry : value) all.push_back(encode(entry));
    return all;
  } else if constexpr (std::is_class_v<Value> && !std::is_same_v<Value, std::string>) {
    return encode_fields(value);
  } else {
    return value;
  }
}

template <typename Struct>
json encode_fields(const Struct& from) {
  json to = json::object();
  for_each_field<Struct>([&](const auto& field) {
    const auto& value = from.*field.member;
    to[field.name] = is_none(field, value) ? json() : encode(value);
  });
  return to;
}

[[noreturn]] inline void refuse(const std::string& path, const json& value, std::string_view must) {
  throw invalid_argument(fmt::format("{} is {}; it must be {}", path, shown(value), must));
}

[[noreturn]] inline void refuse(const std::string& path, std::string_view why) {
  throw invalid_argument(fmt::format("{} {}", path, why));
}

[[noreturn]] inline void refuse_missing(const std::string& path, std::string_view key) {
  throw invalid_argument(fmt::format(
      "{}: the field \"{}\" is missing; the file is incomplete or was written by a newer version", path, key));
}

template <typename Struct>
void decode_fields(const json& from, Struct& to, const std::string& path, std::uint32_t version);

template <typename Integer>
void decode_integer(const json& from, Integer& to, const std::string& path) {
  using limits = std::numeric_limits<Integer>;
  const bool fits = from.is_number_unsigned()  ? std::in_range<Integer>(from.get<std::uint64_t>())
                    : from.is_number_integer() ? std::in_range<Integer>(from.get<std::int64_t>())
                                               : false;
  if (!fits) refuse(path, from, fmt::format("an integer from {} to {}", limits::min(), limits::max()));
  to = from.get<Integer>();
}

template <typename Real>
void decode_real(const json& from, Real& to, const std::string& path) {
  using limits = std::numeric_limits<Real>;
  if (from.is_string())
    for (const Real special : {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), -limits::quiet_NaN()})
      if (from == encode_real(special)) {
        to = special;
        return;
      }
  const double value = from.is_number() ? from.get<double>() : std::numeric_limits<double>::infinity();
  if (!(std::abs(value) <= limits::max()))
    refuse(path, from, fmt::format("a number of at most {}, or \"inf\", \"-inf\" or \"nan\"", limits::max()));
  to = static_cast<Real>(value);
}

template <typename Enum>
void decode_enum(const json& from, Enum& to, const std::string& path) {
  const auto value = from.is_string() ? value_named<Enum>(from.get_ref<const std::string&>()) : std::nullopt;
  if (!value) refuse(path, from, "one of " + names_of<Enum>());
  to = *value;
}

template <typename Value>
void decode(const json& from, Value& to, const std::string& path, std::uint32_t version) {
  if constexpr (std::is_same_v<Value, bool>) {
    if (!from.is_boolean()) refuse(path, from, "true or false");
    to = from.get<bool>();
  } else if constexpr (std::is_enum_v<Value>) {
    decode_enum(from, to, path);
  } else if constexpr (std::is_floating_point_v<Value>) {
    decode_real(from, to, path);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    if (!from.is_string()) refuse(path, from, "a text");
    to = from.get_ref<const std::string&>();
  } else if constexpr (is_list<Value>) {
    if (!from.is_array()) refuse(path, from, "an array");
    for (const json& value : from) {
      const std::string place = fmt::format("{}[{}]", path, to.size());
      decode(value, to.emplace_back(), place, version);
    }
  } else if constexpr (std::is_class_v<Value>) {
    decode_fields(from, to, path, version);
  } else {
    decode_integer(from, to, path);
  }
}

/// Any bytes, as a CBOR byte string. A CBOR text must be UTF-8.
inline json encode_bytes(std::string_view bytes) { return json::binary({bytes.begin(), bytes.end()}); }

/// A view of what is in `from`. Version 1 wrote them as CBOR texts, even if they were not UTF-8.
inline std::string_view bytes_of(const json& from, const std::string& path, std::uint32_t version) {
  if (version == 1 && from.is_string()) return from.get_ref<const std::string&>();
  if (!from.is_binary()) refuse(path, from, "a byte string");
  const std::vector<std::uint8_t>& bytes = from.get_binary();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename IsKnown>
void refuse_unknown(const json& from, const std::string& path, IsKnown is_known) {
  for (const auto& [key, value] : from.items())
    if (!is_known(key))
      throw invalid_argument(fmt::format(
          "{}: the field {} is unknown; remove it, or use the version of syclamp that wrote it", path, shown(key)));
}

/// \return how many keys of `from` were used
template <typename Struct>
std::size_t decode_members(const json& from, Struct& to, const std::string& path, std::uint32_t version) {
  std::size_t used = 0;
  for_each_field<Struct>([&](const auto& field) {
    auto& value = to.*field.member;
    if constexpr (std::decay_t<decltype(field)>::is_struct) {
      if (field.is_flat_in(version)) {
        used += decode_members(from, value, path, version);
        return;
      }
    }
    if (!field.is_in(version)) return field.set_default(to);
    ++used;
    const char* name = field.name_in(version);
    const auto found = from.find(name);
    if (found == from.end()) refuse_missing(path, name);
    if (!found->is_null() || !set_none(field, value)) decode(*found, value, fmt::format("{}.{}", path, name), version);
  });
  return used;
}

template <typename Struct>
bool has_field(const std::string& key, std::uint32_t version) {
  bool is_known = false;
  for_each_field<Struct>([&](const auto& field) {
    using value_type = typename std::decay_t<decltype(field)>::value_type;
    if constexpr (std::decay_t<decltype(field)>::is_struct) {
      if (field.is_flat_in(version)) {
        is_known = is_known || has_field<value_type>(key, version);
        return;
      }
    }
    is_known = is_known || (field.is_in(version) && key == field.name_in(version));
  });
  return is_known;
}

/// \param version  of the file: fields that this version lacks get their defaults
template <typename Struct>
void decode_fields(const json& from, Struct& to, const std::string& path, std::uint32_t version) {
  if (!from.is_object()) refuse(path, from, "an object");
  const std::size_t used = decode_members(from, to, path, version);
  if (from.size() == used) return;  // all keys were used, so none is unknown
  refuse_unknown(from, path, [&](const std::string& key) { return has_field<Struct>(key, version); });
}

/// The value of a key that must be there.
inline const json& member_of(const json& from, const char* key, const std::string& path) {
  const auto found = from.find(key);
  if (found == from.end()) refuse_missing(path, key);
  return *found;
}

/// \throws invalid_argument if a file of this version cannot be read
inline void check_version(std::uint32_t version, const std::string& path, std::uint32_t newest = newest_version) {
  if (version == 0) refuse(path, version, "at least 1");
  if (version > newest)
    refuse(path, fmt::format(
                     "is {}, which a newer syclamp has written; this one reads versions 1 to {}, so use the newer one",
                     version, newest));
}

}  // namespace syclamp::state_codec
