// SPDX-License-Identifier: Apache-2.0
#include "state/snapshot_document.hpp"

#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "scaler/snapshot_check.hpp"
#include "state/codec/state_codec.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

using state_codec::decode_fields;
using state_codec::encode_fields;

constexpr const char* format_name = "syclamp.scaler";
constexpr const char* name_key = "first_nonfinite_name";
constexpr const char* former_name_key = "first_bad_name";
constexpr std::uint32_t name_key_renamed_in = 4;

[[noreturn]] void refuse(std::string_view path, const json& value, std::string_view must) {
  state_codec::refuse(in_snapshot(path), value, must);
}

[[noreturn]] void refuse(std::string_view path, std::string_view why) { state_codec::refuse(in_snapshot(path), why); }

const json& member_of(const json& from, const char* key) {
  return state_codec::member_of(from, key, in_snapshot("it"));
}

const json& array_of(const json& from, const char* key) {
  const json& array = member_of(from, key);
  if (!array.is_array()) refuse(key, array, "an array");
  return array;
}

std::uint32_t version_of(const json& from) {
  std::uint32_t version = 0;
  state_codec::decode_integer(member_of(from, "version"), version, in_snapshot("version"));
  state_codec::check_version(version, in_snapshot("version"));
  return version;
}

/// Counters near their limit would wrap and then contradict each other, so the loaded state could not be saved again.
/// Only files are checked: a running scaler can always be saved.
void check_room(const scale_state& state, const std::string& path) {
  for_each_field<scale_state>([&](const auto& field) {
    const auto& value = state.*field.member;
    using value_type = std::decay_t<decltype(value)>;
    if constexpr (std::is_unsigned_v<value_type>) {
      const value_type most = std::is_same_v<value_type, std::uint32_t> ? max_loaded_count : max_loaded_steps;
      if (value > most) refuse(fmt::format("{}.{}", path, field.name), value, fmt::format("at most {}", most));
    }
  });
}

ledger_entry decode_entry(json from, const std::string& path, std::uint32_t version) {
  ledger_entry entry;
  if (!from.is_object()) refuse(path, from, "an object");
  const char* key = version < name_key_renamed_in ? former_name_key : name_key;
  const auto name = from.find(key);
  if (name == from.end()) state_codec::refuse_missing(in_snapshot(path), key);
  if (name->is_binary()) {
    entry.first_nonfinite_name = state_codec::bytes_of(*name, path, version);
  } else {
    if (!name->is_string()) refuse(path + "." + key, *name, "a text");
    entry.first_nonfinite_name = std::move(name->get_ref<std::string&>());
  }
  from.erase(name);
  decode_fields(from, entry.record, in_snapshot(path), version);
  return entry;
}

/// All but scales and ledger, which have been taken out.
scaler_snapshot decode_head(const json& from) {
  if (!from.is_object() || !from.contains("format") || from["format"] != format_name)
    refuse("it", fmt::format("is not a scaler state: there is no \"format\": \"{}\"", format_name));
  const std::uint32_t version = version_of(from);
  state_codec::refuse_unknown(from, in_snapshot("it"), [](const std::string& key) {
    return key == "format" || key == "version" || key == "policy" || key == "scales" || key == "ledger";
  });
  scaler_snapshot snapshot;
  decode_fields(member_of(from, "policy"), snapshot.policy, in_snapshot("policy"), version);
  for (const char* key : {"scales", "ledger"})
    for (const json& stranger : array_of(from, key)) refuse(fmt::format("an entry of {}", key), stranger, "an object");
  return snapshot;
}

}  // namespace

std::string in_snapshot(std::string_view path) { return fmt::format("scaler state: {}", path); }

json encode_head(const scaler_snapshot& snapshot) {
  json to = json::object();
  to["format"] = format_name;
  to["version"] = newest_version;
  to["policy"] = encode_fields(snapshot.policy);
  to["scales"] = json::array();
  for (const scale_state& state : snapshot.scales) to["scales"].push_back(encode_fields(state));
  return to;
}

json encode_entry(const ledger_entry& entry, name_encoding names) {
  json to = encode_fields(entry.record);
  const std::string& name = entry.first_nonfinite_name;
  to[name_key] = names == name_encoding::bytes ? state_codec::encode_bytes(name) : json(name);
  return to;
}

scaler_snapshot decode_document(std::string_view bytes, document_reader read) {
  std::vector<scale_state> scales;
  std::vector<ledger_entry> ledger;
  std::uint32_t version = 0;     // not known yet
  bool is_version_late = false;  // in a file whose keys were sorted
  const auto take = [&](const std::string& key, const json& so_far, json&& entry) {
    if (version == 0 && so_far.contains("version")) version = version_of(so_far);
    if (version == 0) {
      is_version_late = true;
      return;
    }
    if (key == "ledger") {
      ledger.push_back(decode_entry(std::move(entry), fmt::format("ledger[{}]", ledger.size()), version));
    } else {
      const std::string path = fmt::format("scales[{}]", scales.size());
      decode_fields(entry, scales.emplace_back(), in_snapshot(path), version);
    }
  };
  const auto read_all = [&] { return read(bytes, "scaler state", {{"scales", "ledger"}, take}); };
  const json head = read_all();
  scaler_snapshot snapshot = decode_head(head);
  if (is_version_late) {
    version = version_of(head);
    scales.clear();
    ledger.clear();
    read_all();
  }
  snapshot.scales = std::move(scales);
  snapshot.ledger = std::move(ledger);
  check(snapshot);
  for (std::size_t i = 0; i < snapshot.scales.size(); ++i) check_room(snapshot.scales[i], fmt::format("scales[{}]", i));
  return snapshot;
}

}  // namespace SYCLAMP_NAMESPACE
