// SPDX-License-Identifier: Apache-2.0
// A state in JSON: {"format", "version", "policy": {…}, "scales": [{…}, …], "ledger": [{…}, …]}.
// In binary: magic, version (4 bytes), length of the rest but for its checksum (8), the same in CBOR, checksum of all
// that (8). Numbers have their lowest byte first. Names of tensors are texts in JSON, byte strings in CBOR: they may be
// any bytes. (In version 1 they were texts in both, which is read, too.)
#include "syclamp/scaler_snapshot.hpp"

#include <bit>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "scaler/scale_numbers.hpp"
#include "scaler/snapshot_check.hpp"
#include "state/codec/little_endian.hpp"
#include "state/codec/state_codec.hpp"
#include "support/checksum.hpp"
#include "support/json_reader.hpp"
#include "support/whole_file.hpp"
#include "syclamp/error.hpp"

namespace syclamp {
namespace {

constexpr const char* format_name = "syclamp.scaler";
constexpr std::uint32_t newest_version = 2;
constexpr const char* name_key = "first_bad_name";
constexpr std::string_view magic = "\x89syclamp";  // no text begins like this
constexpr std::size_t longest_file = std::size_t{1} << 30;

using state_codec::bytes_of;
using state_codec::decode_fields;
using state_codec::decode_integer;
using state_codec::encode;
using state_codec::encode_bytes;
using state_codec::encode_fields;
using state_codec::refuse_unknown;

/// How messages call a part of it.
std::string in_state(std::string_view path) { return fmt::format("state of a scaler: {}", path); }

[[noreturn]] void refuse(std::string_view path, const json& value, std::string_view must) {
  state_codec::refuse(in_state(path), value, must);
}

[[noreturn]] void refuse(std::string_view path, std::string_view why) { state_codec::refuse(in_state(path), why); }

json encode_entry(const ledger_entry& entry, state_format format) {
  json to = encode_fields(entry.record);
  const std::string& name = entry.first_bad_name;
  to[name_key] = format == state_format::binary ? encode_bytes(name) : json(name);
  return to;
}

ledger_entry decode_entry(json from, const std::string& path) {
  ledger_entry entry;
  if (!from.is_object()) refuse(path, from, "an object");
  const auto name = from.find(name_key);
  if (name == from.end()) refuse(path, fmt::format("has no field {}; was it cut out?", name_key));
  if (name->is_binary()) {
    entry.first_bad_name = bytes_of(*name, path);
  } else {
    if (!name->is_string()) refuse(path + "." + name_key, *name, "a text");
    entry.first_bad_name = std::move(name->get_ref<std::string&>());
  }
  from.erase(name);
  decode_fields(from, entry.record, in_state(path));
  return entry;
}

// --- What makes sense ------------------------------------------------------------------------------------------------

void check_number(const scale_number& number, const std::string& path) {
  constexpr std::uint64_t lowest = std::uint64_t{1} << (kernels::significand_bits - 1);
  if (number.significand < lowest || number.significand >= 2 * lowest)
    refuse(path + ".significand", number.significand, "from 2^52 to 2^53 - 1");
  if (kernels::compare(number, kernels::smallest_scale) < 0 || kernels::compare(number, kernels::largest_scale) > 0)
    refuse(path, fmt::format("is {} · 2^{}; scales lie between 2^-126 and the largest FP32", number.significand,
                             number.exponent));
}

void check_flag(std::uint32_t value, const std::string& path) {
  if (value > 1) refuse(path, value, "0 or 1");
}

/// Kernels never make a running mean that is not finite. One that is would make the scale a NaN.
void check_mean(float value, float least, float most, const std::string& path) {
  if (!(value >= least && value <= most)) refuse(path, encode(value), fmt::format("from {} to {}", least, most));
}

void check_means(const scale_state& state, const std::string& path) {
  constexpr float largest_log = 512, largest = std::numeric_limits<float>::max();  // log2 of FP32 numbers
  constexpr float heaviest = 2048;  // weights are 1 / (1 - 0.999) at most
  check_mean(state.mean, -largest_log, largest_log, path + ".mean");
  check_mean(state.slow_mean, -largest_log, largest_log, path + ".slow_mean");
  check_mean(state.slow_variance, 0, largest_log * largest_log, path + ".slow_variance");
  check_mean(state.mean_weight, 0, heaviest, path + ".mean_weight");
  check_mean(state.slow_weight, 0, heaviest, path + ".slow_weight");
  check_mean(state.norm_mean, -largest, largest, path + ".norm_mean");
  check_mean(state.norm_variance, 0, 0x1p127f, path + ".norm_variance");  // no summand is above 2^126
}

/// Counters that are near their limit would begin anew, and then contradict each other: what is loaded would not be
/// saved. Only files are asked for this, so that nothing that runs is kept from being saved.
void check_room(const scale_state& state, const std::string& path) {
  if (state.attempted > most_loaded_steps)
    refuse(path + ".attempted", state.attempted, fmt::format("at most {}", most_loaded_steps));
  const std::pair<const char*, std::uint32_t> counters[] = {
      {"clean_steps", state.clean_steps},           {"tolerated", state.tolerated},
      {"since_change", state.since_change},         {"overflows", state.overflows},
      {"skips_in_a_row", state.skips_in_a_row},     {"nan_skips_in_a_row", state.nan_skips_in_a_row},
      {"retries_in_a_row", state.retries_in_a_row}, {"norms", state.norms}};
  for (const auto& [name, value] : counters)
    if (value > most_loaded_count)
      refuse(fmt::format("{}.{}", path, name), value, fmt::format("at most {}", most_loaded_count));
}

void check_state(const scale_state& state, const std::string& path) {
  check_number(state.exact, path + ".exact");
  check_number(state.next, path + ".next");
  const float scale = kernels::to_float(state.exact);
  if (std::bit_cast<std::uint32_t>(state.scale) != std::bit_cast<std::uint32_t>(scale))
    refuse(path + ".scale", encode(state.scale),
           fmt::format("{}, which is {} · 2^{} (\"exact\") as an FP32", scale, state.exact.significand,
                       state.exact.exponent));
  check_flag(state.has_overflowed, path + ".has_overflowed");
  check_flag(state.stopped, path + ".stopped");
  check_means(state, path);
  if (state.applied > state.attempted || state.skipped > state.attempted - state.applied)
    refuse(path, fmt::format("has {} steps applied and {} skipped, but only {} attempted", state.applied, state.skipped,
                             state.attempted));
}

void check_record(const step_record& record, const scaler_snapshot& snapshot, const std::string& path) {
  if (record.scale_index >= snapshot.scales.size())
    refuse(path + ".scale_index", record.scale_index,
           fmt::format("below the number of scales, {}", snapshot.scales.size()));
  const std::uint64_t attempted = snapshot.scales[record.scale_index].attempted;
  if (record.step == 0 || record.step > attempted)
    refuse(path + ".step", record.step, fmt::format("from 1 to the steps attempted, {}", attempted));
}

}  // namespace

void check(const scaler_snapshot& snapshot) {
  validate(snapshot.policy);
  if (snapshot.scales.empty() || snapshot.scales.size() > most_elements)
    refuse("scales", fmt::format("has {} elements; it must have 1 to {}", snapshot.scales.size(), most_elements));
  if (snapshot.ledger.size() > most_elements)
    refuse("ledger", fmt::format("has {} entries; it may have {}", snapshot.ledger.size(), most_elements));
  for (std::size_t i = 0; i < snapshot.scales.size(); ++i) {
    const scale_state& state = snapshot.scales[i];
    const std::string path = fmt::format("scales[{}]", i);
    check_state(state, path);
    if (state.attempted != snapshot.scales[0].attempted)
      refuse(path + ".attempted", state.attempted, "that of the other scales: they step together");
    if (snapshot.policy.mode == scaling_mode::disabled && state.scale != 1.0f)
      refuse(path + ".scale", encode(state.scale), "1: scaling is disabled");
  }
  for (std::size_t i = 0; i < snapshot.ledger.size(); ++i)
    check_record(snapshot.ledger[i].record, snapshot, fmt::format("ledger[{}]", i));
}

namespace {

// --- Documents -------------------------------------------------------------------------------------------------------

json encode_head(const scaler_snapshot& snapshot) {
  json to = json::object();
  to["format"] = format_name;
  to["version"] = newest_version;
  to["policy"] = encode_fields(snapshot.policy);
  to["scales"] = json::array();
  for (const scale_state& state : snapshot.scales) to["scales"].push_back(encode_fields(state));
  return to;
}

void check_version(const json& version) {
  std::uint32_t number = 0;
  decode_integer(version, number, in_state("version"));
  if (number > newest_version)
    refuse("version", fmt::format("is {}, of a newer syclamp; this one reads up to {}: use the newer one", number,
                                  newest_version));
  if (number == 0) refuse("version", version, "at least 1");
}

const json& member_of(const json& from, const char* key) { return state_codec::member_of(from, key, in_state("it")); }

const json& array_of(const json& from, const char* key) {
  const json& array = member_of(from, key);
  if (!array.is_array()) refuse(key, array, "an array");
  return array;
}

/// All but scales and ledger, which have been taken out.
scaler_snapshot decode_head(const json& from) {
  if (!from.is_object() || !from.contains("format") || from["format"] != format_name)
    refuse("it", fmt::format("is something else: there is no \"format\": \"{}\"", format_name));
  check_version(member_of(from, "version"));
  refuse_unknown(from, in_state("it"), [](const std::string& key) {
    return key == "format" || key == "version" || key == "policy" || key == "scales" || key == "ledger";
  });
  scaler_snapshot snapshot;
  decode_fields(member_of(from, "policy"), snapshot.policy, in_state("policy"));
  for (const char* key : {"scales", "ledger"})
    for (const json& stranger : array_of(from, key)) refuse(fmt::format("an entry of {}", key), stranger, "an object");
  return snapshot;
}

using reader = json (*)(std::string_view, const std::string&, const element_handler&);

scaler_snapshot decode_document(std::string_view bytes, reader read) {
  std::vector<scale_state> scales;
  std::vector<ledger_entry> ledger;
  const auto take = [&](const std::string& key, const json& so_far, json&& entry) {
    // Entries of a newer version may differ; that it is newer is what should be said then.
    if (const auto version = so_far.find("version"); version != so_far.end()) check_version(*version);
    if (key == "ledger") {
      ledger.push_back(decode_entry(std::move(entry), fmt::format("ledger[{}]", ledger.size())));
    } else {
      const std::string path = fmt::format("scales[{}]", scales.size());
      decode_fields(entry, scales.emplace_back(), in_state(path));
    }
  };
  scaler_snapshot snapshot = decode_head(read(bytes, "state of a scaler", {{"scales", "ledger"}, take}));
  snapshot.scales = std::move(scales);
  snapshot.ledger = std::move(ledger);
  check(snapshot);
  for (std::size_t i = 0; i < snapshot.scales.size(); ++i) check_room(snapshot.scales[i], fmt::format("scales[{}]", i));
  return snapshot;
}

// --- Binary ----------------------------------------------------------------------------------------------------------

/// Takes it from the front of `from`.
template <typename Integer>
Integer take_integer(std::string_view& from) {
  if (from.size() < sizeof(Integer)) refuse("it", "is truncated");
  const auto value = integer_at<Integer>(&from.front());
  from.remove_prefix(sizeof value);
  return value;
}

}  // namespace

std::string to_binary(const scaler_snapshot& snapshot) {
  check(snapshot);
  json document = encode_head(snapshot);
  json& ledger = document["ledger"] = json::array();
  for (const ledger_entry& entry : snapshot.ledger) ledger.push_back(encode_entry(entry, state_format::binary));
  const std::string payload = to_cbor(document);
  std::string bytes(magic);
  append_integer(bytes, newest_version);
  append_integer(bytes, std::uint64_t{payload.size()});
  bytes += payload;
  append_integer(bytes, checksum(bytes));
  return bytes;
}

scaler_snapshot snapshot_from_binary(std::string_view bytes) {
  if (!bytes.starts_with(magic)) refuse("it", "does not begin like one in binary");
  std::string_view rest = bytes.substr(magic.size());
  check_version(take_integer<std::uint32_t>(rest));
  const auto length = take_integer<std::uint64_t>(rest);
  if (rest.size() < sizeof(std::uint64_t) || length != rest.size() - sizeof(std::uint64_t))
    refuse("it", fmt::format("should have {} bytes of content, but is truncated or damaged", length));
  const std::string_view payload = rest.substr(0, length);
  rest.remove_prefix(length);
  if (take_integer<std::uint64_t>(rest) != checksum(bytes.substr(0, bytes.size() - sizeof(std::uint64_t))))
    refuse("it", "is damaged: its checksum is wrong; use another copy");
  return decode_document(payload, read_cbor);
}

scaler_snapshot scaler_snapshot::fresh(const scaling_policy& policy, std::size_t scales) {
  validate(policy);
  if (scales == 0 || scales > most_elements)
    throw invalid_argument(fmt::format("a scaler has 1 to {} scales, not {}", most_elements, scales));
  scale_number number = to_scale_number(policy.mode == scaling_mode::disabled ? 1.0 : policy.init);
  if (policy.arithmetic != scale_arithmetic::float64) number = kernels::rounded_to_float32(number);
  scale_state state;
  state.exact = state.next = number;
  state.scale = kernels::to_float(number);
  return {policy, std::vector<scale_state>(scales, state), {}};
}

std::string to_json(const scaler_snapshot& snapshot) {
  check(snapshot);
  std::string text = encode_head(snapshot).dump(2);
  text.resize(text.rfind("\n}"));
  text += ",\n  \"ledger\": [";
  const char* separator = "\n    ";
  for (const ledger_entry& entry : snapshot.ledger) {  // a line each: many of them would be hard to read otherwise
    // Names may be any bytes; those that are no UTF-8 cannot be in JSON.
    text += separator + encode_entry(entry, state_format::json).dump(-1, ' ', false, json::error_handler_t::replace);
    separator = ",\n    ";
  }
  return text + (snapshot.ledger.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

scaler_snapshot snapshot_from_json(std::string_view text) { return decode_document(text, read_json); }

void save(const scaler_snapshot& snapshot, const std::filesystem::path& file, state_format format) {
  replace_file(file, format == state_format::binary ? to_binary(snapshot) : to_json(snapshot));
}

scaler_snapshot load_snapshot(const std::filesystem::path& file) {
  const std::string bytes = read_whole_file(file, longest_file);
  try {
    return bytes.starts_with(magic) ? snapshot_from_binary(bytes) : snapshot_from_json(bytes);
  } catch (const invalid_argument& problem) {
    throw error(fmt::format("cannot load {}: {}", file.string(), problem.what()));
  }
}

}  // namespace syclamp
