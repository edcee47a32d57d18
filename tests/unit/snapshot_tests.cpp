// SPDX-License-Identifier: Apache-2.0
// D11 and D12 are defects of other frameworks: docs/frameworks.md#d11.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "scaler/scale_numbers.hpp"
#include "state/codec/little_endian.hpp"
#include "state/codec/state_fields.hpp"
#include "state/snapshot_binary.hpp"
#include "support/checksum.hpp"
#include "syclamp/error.hpp"
#include "syclamp/presets.hpp"
#include "syclamp/scaler_snapshot.hpp"
#include "syclamp/simulation.hpp"
#include "tests/support/memory_file.hpp"
#include "tests/support/snapshots.hpp"
#include "tests/support/state_equality.hpp"
#include "tests/support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;
using nlohmann::ordered_json;
using syclamp::scaler_snapshot;
namespace fs = std::filesystem;

namespace {

scaler_snapshot saved_and_loaded(const scaler_snapshot& snapshot) {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  save_snapshot(snapshot, file);
  return syclamp::load_snapshot(file);
}

/// A binary snapshot with any content, and the checksum that belongs to it.
std::string binary_with(const std::string& payload, std::uint32_t version = 1) {
  std::string bytes = "\x89syclamp";
  syclamp::append_integer(bytes, version);
  syclamp::append_integer(bytes, std::uint64_t{payload.size()});
  bytes += payload;
  syclamp::append_integer(bytes, syclamp::checksum(bytes));
  return bytes;
}

std::string cbor(const ordered_json& value) {
  const std::vector<std::uint8_t> bytes = ordered_json::to_cbor(value);
  return {bytes.begin(), bytes.end()};
}

/// The message with which a file is refused.
std::string refusal_of(const std::string& content) {
  const memory_file file(content);
  try {
    syclamp::load_snapshot(file.path());
  } catch (const syclamp::error& problem) {
    CHECK_THAT(problem.what(), ContainsSubstring("cannot load " + file.path().string() + ": "));
    return problem.what();
  }
  return "";
}

/// The message with which a document is refused, the same in both formats.
std::string refusal_of(const ordered_json& document) {
  const std::string message = refusal_of(document.dump());
  const std::string in_binary = refusal_of(binary_with(cbor(document)));
  const auto reason = [](const std::string& text) { return text.substr(std::min(text.find(": "), text.size())); };
  CHECK(reason(message) == reason(in_binary));
  return message;
}

ordered_json document_of(const scaler_snapshot& snapshot) { return ordered_json::parse(to_json(snapshot)); }

/// Where objects with fields are in a document.
const std::vector<ordered_json::json_pointer> objects{"/policy"_json_pointer, "/scales/0"_json_pointer,
                                                      "/scales/0/exact"_json_pointer, "/scales/0/next"_json_pointer,
                                                      "/ledger/0"_json_pointer};

}  // namespace

TEST_CASE("a scale is exact on its way to integers and back") {
  for (const double value :
       {1.0, 65536.0, 0.1, 1.0 / 3, 0x1p-126, 0x1.fffffep127, std::nextafter(1.0, 2.0), 5e-324, 0.0}) {
    CAPTURE(value);
    const syclamp::scale_number number = syclamp::to_scale_number(value);
    CHECK(syclamp::to_double(number) == value);
    CHECK((value == 0 ? number.significand == 0 : number.significand >> 52 == 1));
  }
}

TEST_CASE("D11: every setting, every counter and the ledger survive, in both formats") {
  const scaler_snapshot snapshot = odd_snapshot();
  CHECK(same(syclamp::snapshot_from_json(to_json(snapshot)), snapshot));
  CHECK(same(saved_and_loaded(snapshot), snapshot));
  CHECK(same(syclamp::snapshot_from_binary(to_binary(snapshot)), snapshot));
}

TEST_CASE("D11: the settings of every preset survive") {
  for (const syclamp::preset_info& info : syclamp::scaling_presets()) {
    CAPTURE(info.name);
    const scaler_snapshot fresh = scaler_snapshot::fresh(syclamp::scaling_preset(info.name), 3);
    CHECK(same(syclamp::snapshot_from_json(to_json(fresh)), fresh));
    CHECK(same(syclamp::snapshot_from_binary(to_binary(fresh)), fresh));
  }
}

TEST_CASE("D12: saved and loaded at any step, the future is the same") {
  std::mt19937 random(3);
  for (const syclamp::preset_info& info : syclamp::scaling_presets()) {
    CAPTURE(info.name);
    syclamp::scaling_policy policy = syclamp::scaling_preset(info.name);
    policy.growth_interval = 4;
    scaler_snapshot here = scaler_snapshot::fresh(policy), there = here;
    for (int i = 0; i < 60; ++i) {
      const syclamp::simulated_step step{random() % 5 == 0 ? syclamp::found_inf : syclamp::found_nothing, 3.0f};
      there = syclamp::snapshot_from_json(to_json(there));
      REQUIRE(simulate_step(here, step).scale_after == simulate_step(there, step).scale_after);
    }
    CHECK(same(here, there));
  }
}

TEST_CASE("a name in the ledger may be any bytes; JSON replaces those that it cannot hold") {
  scaler_snapshot snapshot = small_snapshot();
  snapshot.ledger[0].first_nonfinite_name = std::string("\xff\xfe\0w", 4);
  CHECK(same(syclamp::snapshot_from_binary(to_binary(snapshot)), snapshot));
  CHECK(saved_and_loaded(snapshot).ledger[0].first_nonfinite_name == std::string("\ufffd\ufffd\0w", 8));

  // In CBOR it is a byte string, because a text must be UTF-8; in version 1 it was a text, which is still read.
  const std::string whole = to_binary(snapshot);
  ordered_json document = ordered_json::from_cbor(whole.substr(20, whole.size() - 28));
  CHECK(document["ledger"][0]["first_nonfinite_name"].is_binary());
  document["ledger"][0]["first_nonfinite_name"] = snapshot.ledger[0].first_nonfinite_name;
  CHECK(same(syclamp::load_snapshot(memory_file(binary_with(cbor(document))).path()), snapshot));
}

TEST_CASE("a fresh scaler has the scale that its arithmetic keeps") {
  syclamp::scaling_policy policy;
  policy.power_of_two = false;
  policy.init_scale = 0.1;
  const auto begin = [&] { return scaler_snapshot::fresh(policy).scales.at(0); };
  CHECK(syclamp::to_double(begin().exact) == static_cast<double>(0.1f));
  CHECK(begin().scale == 0.1f);
  CHECK(same_bits(begin().exact, begin().next));
  policy.replay.arithmetic = syclamp::scale_arithmetic::float32_scaled;
  CHECK(syclamp::to_double(begin().exact) == static_cast<double>(0.1f));
  policy.replay.arithmetic = syclamp::scale_arithmetic::float64;
  CHECK(syclamp::to_double(begin().exact) == 0.1);
  CHECK(begin().scale == 0.1f);
  policy.mode = syclamp::scaling_mode::disabled;
  CHECK(begin().scale == 1.0f);

  CHECK(scaler_snapshot::fresh(policy, 5).scales.size() == 5);
  CHECK(scaler_snapshot::fresh(policy).ledger.empty());
  CHECK_THROWS_AS(scaler_snapshot::fresh(policy, 0), syclamp::invalid_argument);
  policy.growth_factor = 0.5;
  CHECK_THROWS_WITH(scaler_snapshot::fresh(policy), ContainsSubstring("growth"));
}

TEST_CASE("a state that was cut short anywhere is refused") {
  for (const std::string& whole : {to_json(small_snapshot()), to_binary(small_snapshot())}) {
    const bool is_text = whole.back() == '\n';
    for (std::size_t size = 0; size < whole.size() - (is_text ? 1 : 0); ++size)
      if (refusal_of(whole.substr(0, size)).empty()) FAIL_CHECK("cut to " << size << " of " << whole.size());
    CHECK_FALSE(refusal_of(whole + "x").empty());
    CHECK(refusal_of(whole).empty());
  }
}

TEST_CASE("a binary state with any byte changed is refused") {
  const std::string whole = to_binary(small_snapshot());
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int bits : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ bits);
      if (refusal_of(damaged).empty()) FAIL_CHECK("byte " << at << " changed by " << bits);
    }
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 4;
  CHECK_THAT(refusal_of(damaged), ContainsSubstring("checksum"));
}

TEST_CASE("random damage never does worse than to be refused, and what is accepted is sound") {
  std::mt19937 random(5);
  const std::string text = to_json(odd_snapshot());
  const std::string payload = cbor(document_of(small_snapshot()));
  int accepted = 0;
  const auto try_it = [&](const std::function<scaler_snapshot()>& load) {
    try {
      const scaler_snapshot snapshot = load();
      CHECK(same(syclamp::snapshot_from_binary(to_binary(snapshot)), snapshot));
      scaler_snapshot as_text = syclamp::snapshot_from_json(to_json(snapshot));
      for (std::size_t i = 0; i < snapshot.ledger.size(); ++i)  // JSON cannot hold every name
        as_text.ledger.at(i).first_nonfinite_name = snapshot.ledger[i].first_nonfinite_name;
      CHECK(same(as_text, snapshot));
      ++accepted;
    } catch (const syclamp::error& problem) {
      CHECK(std::string(problem.what()).size() > 10);
    }
  };
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = i % 2 == 0 ? text : payload;
    for (auto n = random() % 4; n < 4; ++n) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (i % 2 == 0) {
      try_it([&] { return syclamp::snapshot_from_json(damaged); });
    } else {
      try_it([&] { return syclamp::load_snapshot(memory_file(binary_with(damaged)).path()); });
    }
  }
  CHECK(accepted < 2000);
}

TEST_CASE("what is no state is refused, and it is said so") {
  CHECK_THAT(refusal_of(std::string()), ContainsSubstring("unexpected end"));
  CHECK_THAT(refusal_of(std::string("\x89PNG\r\n\x1a\n")), ContainsSubstring("parse error"));
  CHECK_THAT(refusal_of(std::string("[1, 2]")), ContainsSubstring("is not a scaler state"));
  CHECK_THAT(refusal_of(std::string("{\"scale\": 65536.0}")), ContainsSubstring("is not a scaler state"));
  CHECK_THAT(refusal_of(std::string("{\"format\": \"syclamp.optimizer\"}")),
             ContainsSubstring("is not a scaler state"));
  CHECK_THAT(refusal_of(std::string("null")), ContainsSubstring("is not a scaler state"));

  const temporary_folder folder;
  CHECK_THROWS_WITH(syclamp::load_snapshot(folder.path()), ContainsSubstring("Is a directory"));
  CHECK_THROWS_WITH(syclamp::load_snapshot(folder.path() / "absent"),
                    ContainsSubstring("absent") && ContainsSubstring("No such file"));
}

TEST_CASE("keys may be in any order, the version last") {
  const nlohmann::json sorted = nlohmann::json::parse(to_json(odd_snapshot()));
  REQUIRE(sorted.dump().find("\"version\"") > sorted.dump().find("\"scales\""));
  CHECK(same(syclamp::snapshot_from_json(sorted.dump()), odd_snapshot()));
}

TEST_CASE("the version may lie between the ledger and the scales") {
  const ordered_json document = document_of(odd_snapshot());
  const auto in_order = [&](const std::vector<std::string>& keys) {
    ordered_json reordered = ordered_json::object();
    for (const std::string& key : keys) reordered[key] = document[key];
    REQUIRE(reordered.size() == document.size());
    return reordered.dump();
  };
  REQUIRE(!document["ledger"].empty());
  CHECK(
      same(syclamp::snapshot_from_json(in_order({"ledger", "version", "format", "policy", "scales"})), odd_snapshot()));
  CHECK(
      same(syclamp::snapshot_from_json(in_order({"scales", "version", "format", "policy", "ledger"})), odd_snapshot()));
}

TEST_CASE("a newer version is refused as such, whatever else it holds") {
  ordered_json document = document_of(small_snapshot());
  const std::uint32_t newest = syclamp::newest_version;
  const std::string complaint = "version is " + std::to_string(newest + 1);
  document["version"] = newest + 1;
  document["scales"][0]["a new field"] = 1;
  document["ledger"][0]["a new field"] = 1;
  document["and another"] = 1;
  CHECK_THAT(refusal_of(document),
             ContainsSubstring(complaint + ", which a newer syclamp has written; this one reads versions 1 to " +
                               std::to_string(newest)));
  CHECK_THAT(refusal_of(binary_with("from the future", newest + 1)), ContainsSubstring(complaint));
  for (const ordered_json& wrong : {ordered_json(0), ordered_json("1"), ordered_json(1.0), ordered_json(-1)}) {
    document["version"] = wrong;
    CHECK_THAT(refusal_of(document), ContainsSubstring("version is"));
  }
}

TEST_CASE("a field that is missing, unknown or of a wrong type is refused by its name") {
  const ordered_json whole = document_of(small_snapshot());
  REQUIRE(refusal_of(whole).empty());
  for (const auto& object : objects) {
    ordered_json extended = whole;
    extended[object]["stranger"] = 1;
    CHECK_THAT(refusal_of(extended), ContainsSubstring("stranger") && ContainsSubstring("unknown"));
    for (const auto& [key, value] : whole[object].items()) {
      CAPTURE(object.to_string(), key);
      ordered_json damaged = whole;
      damaged[object].erase(key);
      CHECK_THAT(refusal_of(damaged),
                 ContainsSubstring(": the field \"" + key + "\" is missing; the file is incomplete"));
      for (const ordered_json& wrong :
           {ordered_json::array({1}), ordered_json::object(), ordered_json("no such text")}) {
        if (key == "first_nonfinite_name" && wrong.is_string()) continue;
        damaged[object][key] = wrong;
        CHECK_THAT(refusal_of(damaged), ContainsSubstring(key));
      }
      damaged[object][key] = nullptr;
      CHECK((key == "first_nonfinite" || key == "first_nonfinite_tensor") == refusal_of(damaged).empty());
      if (!value.is_boolean()) {
        damaged[object][key] = true;
        CHECK_THAT(refusal_of(damaged), ContainsSubstring(key + " is true"));
      }
      if (value.is_number_integer()) {
        damaged[object][key] = 1.5;
        CHECK_THAT(refusal_of(damaged), ContainsSubstring(key + " is 1.5"));
        damaged[object][key] = key == "exponent" ? ordered_json(4294967296) : ordered_json(-1);
        CHECK_THAT(refusal_of(damaged), ContainsSubstring(key + " is"));
      }
    }
  }
  for (const char* key : {"policy", "scales", "ledger", "version"}) {
    ordered_json damaged = whole;
    damaged.erase(key);
    CHECK_THAT(refusal_of(damaged), ContainsSubstring(key));
    damaged[key] = "text";
    CHECK_THAT(refusal_of(damaged), ContainsSubstring(key));
  }
  ordered_json damaged = whole;
  damaged["ledger"].push_back(5);
  CHECK_THAT(refusal_of(damaged), ContainsSubstring("ledger is 5"));
  damaged = whole;
  damaged["stranger"] = 1;
  CHECK_THAT(refusal_of(damaged), ContainsSubstring("stranger"));
  damaged = whole;
  damaged["scales"] = ordered_json::array();
  CHECK_THAT(refusal_of(damaged), ContainsSubstring("scales has 0"));
}

TEST_CASE("values that cannot be, or contradict each other, are refused by name and value") {
  struct wrong {
    const char* where;
    ordered_json value;
    const char* complaint;
  };
  const std::vector<wrong> all{
      {"/policy/growth_interval", 0, "growth_interval is 0"},
      {"/policy/growth_factor", 1.0, "growth_factor is 1"},
      {"/policy/max", "inf", "max is inf"},
      {"/policy/min", "nan", "min is"},
      {"/policy/growth_interval", 4294967296, "policy.growth_interval is 4294967296"},
      {"/policy/replay/growth_test", "sometimes",
       "policy.replay.growth_test is \"sometimes\"; it must be one of at_least, equal"},
      {"/policy/mode", "", "policy.mode is \"\""},
      {"/scales/0/exact/significand", 4503599627370495, "scales[0].exact.significand is 4503599627370495"},
      {"/scales/0/exact/significand", 9007199254740992, "scales[0].exact.significand"},
      {"/scales/0/exact/significand", 0, "scales[0].exact.significand is 0"},
      {"/scales/0/exact/exponent", -179, "scales[0].exact is"},
      {"/scales/0/exact/exponent", 76, "scales[0].exact is"},
      {"/scales/0/next/exponent", 2147483647, "scales[0].next is"},
      {"/scales/0/scale", 65537.0, "scales[0].scale is 65537"},
      {"/scales/0/scale", -65536.0, "scales[0].scale"},
      {"/scales/0/scale", "nan", "scales[0].scale"},
      {"/scales/0/scale", 1e39, "scales[0].scale is 1e+39"},
      {"/scales/0/stopped", 2, "scales[0].stopped is 2"},
      {"/scales/0/has_overflowed", 2, "scales[0].has_overflowed is 2"},
      {"/scales/0/applied", 2, "scales[0] has 2 applied and 0 skipped steps"},
      {"/scales/0/skipped", 18446744073709551615u, "scales[0] has"},
      {"/scales/0/clean_steps", 4294967296, "scales[0].clean_steps"},
      {"/ledger/0/outcome", "unknown", "ledger[0].outcome is \"unknown\""},
      {"/ledger/0/norm", -1e39, "ledger[0].norm"},
  };
  for (const wrong& mistake : all) {
    CAPTURE(mistake.where);
    ordered_json damaged = document_of(small_snapshot());
    damaged[ordered_json::json_pointer(mistake.where)] = mistake.value;
    CHECK_THAT(refusal_of(damaged), ContainsSubstring(mistake.complaint));
  }
}

TEST_CASE("hostile states are refused before they cost anything") {
  constexpr std::size_t many = 1 << 20;
  CHECK_THAT(refusal_of(std::string(many, '[')), ContainsSubstring("nested"));
  std::string zeros = "{\"ledger\":[0";
  for (std::size_t i = 0; i < many; ++i) zeros += ",0";
  CHECK_THAT(refusal_of(zeros + "]}"), ContainsSubstring("more than 1048576 elements"));
  std::string keys = "{\"k\":0";
  for (int i = 0; i < 300; ++i) keys += ",\"" + std::to_string(i) + "\":0";
  CHECK_THAT(refusal_of(keys + "}"), ContainsSubstring("more than 256 keys"));
  CHECK_THAT(refusal_of(std::string(R"({"format":1,"format":1})")), ContainsSubstring("\"format\" twice"));

  CHECK_THAT(refusal_of(binary_with(std::string(many, '\x81'))), ContainsSubstring("nested"));
  CHECK_THAT(refusal_of(binary_with(std::string(many, '\x7f'))), ContainsSubstring("syclamp never writes"));
  CHECK_THAT(refusal_of(binary_with(std::string(many, '\x5f'))), ContainsSubstring("syclamp never writes"));
  CHECK_THAT(refusal_of(binary_with("\x5a\xff\xff\xff\xff")), ContainsSubstring("truncated"));
  CHECK_THAT(refusal_of(binary_with(std::string(many, '\xc1'))), ContainsSubstring("syclamp never writes"));
  const std::string huge(8, '\xff');
  for (const char* head : {"\x9b", "\xbb", "\x7b", "\x1b", "\xa1\x7b"})
    CHECK_FALSE(refusal_of(binary_with(head + huge)).empty());
  CHECK_FALSE(refusal_of("\x89syclamp\x01" + std::string(3, '\0') + huge).empty());
}

TEST_CASE("a state whose counters are near their limit, or whose means are no numbers, is refused by name and value") {
  struct wrong {
    const char* field;
    ordered_json value;
    const char* must;
  };
  const std::vector<wrong> all{{"clean_steps", 4294967295u, "at most 2147483648"},
                               {"tolerated", 4294967295u, "at most"},
                               {"since_change", 4294967295u, "at most"},
                               {"overflows", (1u << 31) + 1, "at most"},
                               {"skips_in_a_row", 4294967295u, "at most"},
                               {"nan_skips_in_a_row", 4294967295u, "at most"},
                               {"retries_in_a_row", 4294967295u, "at most"},
                               {"norms", 4294967295u, "at most"},
                               {"attempted", ~std::uint64_t{0}, "at most 4503599627370496"},
                               {"mean", "nan", "from -512 to 512"},
                               {"slow_mean", "-inf", "from -512 to 512"},
                               {"slow_variance", -1, "from 0 to"},
                               {"slow_variance", "nan", "from 0 to"},
                               {"mean_weight", "nan", "from 0 to"},
                               {"slow_weight", -1, "from 0 to"},
                               {"norm_mean", "nan", "from -3.4028235e+38 to"},
                               {"norm_mean", "inf", "from -3.4028235e+38 to"},
                               {"norm_variance", "inf", "from 0 to"},
                               {"norm_variance", -0.5, "from 0 to"}};
  for (const wrong& mistake : all) {
    CAPTURE(mistake.field);
    ordered_json document = document_of(scaler_snapshot::fresh({}));
    document["scales"][0][mistake.field] = mistake.value;
    CHECK_THROWS_WITH(syclamp::snapshot_from_json(document.dump()),
                      ContainsSubstring("scales[0]." + std::string(mistake.field)) && ContainsSubstring(mistake.must));
  }
}
