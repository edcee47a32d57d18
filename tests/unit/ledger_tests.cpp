// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <iomanip>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/error.hpp"
#include "syclamp/ledger.hpp"
#include "tests/support/state_equality.hpp"

using Catch::Matchers::ContainsSubstring;
using syclamp::ledger_entry;
using syclamp::ledger_format;
using syclamp::read_ledger;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

/// Every field has a value of its own.
ledger_entry odd_entry() {
  ledger_entry entry;
  syclamp::step_record& record = entry.record;
  record.step = 18446744073709551614u;
  record.applied = 2;
  record.skipped = 3;
  record.elements = 1ull << 53;
  record.inf_count = (1ull << 53) + 1;  // not an FP64
  record.nan_count = 6;
  record.zero_count = 7;
  record.subnormal_count = 8;
  record.first_nonfinite_tensor = 9;
  record.first_nonfinite = 0;
  record.first_nonfinite_list = 4294967295u;
  record.scale_index = 11;
  record.flags = syclamp::found_inf | syclamp::found_by_user;
  record.outcome = syclamp::step_outcome::skipped_jointly;
  record.status = syclamp::step_status::nan_persistent;
  record.skips_in_a_row = 12;
  record.retry = 1;
  record.lists = 13;
  record.skipped_lists = 14;
  record.scale = 0.1f;
  record.next_scale = std::numeric_limits<float>::max();
  record.norm = std::numeric_limits<float>::denorm_min();
  record.clip = -0.0f;
  record.amax = 123456792.0f;
  record.amax_limit = std::nextafter(1.0f, 2.0f);
  entry.first_nonfinite_name = "layer, \"3\r\nweight{[";
  return entry;
}

std::string written(const std::vector<ledger_entry>& entries, ledger_format format) {
  std::ostringstream stream;
  stream << std::hex << std::setprecision(1) << std::showbase;  // the caller's business, not ours
  write_ledger_header(stream, format);
  for (const ledger_entry& entry : entries) write_ledger_entry(stream, entry, format);
  return stream.str();
}

/// The same as a JSON array, an object a line.
std::string as_array(std::string lines) {
  lines.pop_back();
  for (std::size_t at = 0; (at = lines.find("}\n{", at)) != lines.npos; at += 3) lines.replace(at, 3, "},\n{");
  return "[\n" + lines + "\n]\n";
}

std::vector<std::string> all_forms(const std::vector<ledger_entry>& entries) {
  const std::string lines = written(entries, ledger_format::json_lines);
  return {written(entries, ledger_format::csv), lines, as_array(lines)};
}

std::string replaced(std::string text, const std::string& old, const std::string& replacement) {
  const std::size_t at = text.find(old);
  REQUIRE(at != text.npos);
  return text.replace(at, old.size(), replacement);
}

/// Reads, or refuses in the right way; anything else is a failure.
void read_or_refuse(const std::string& text) {
  try {
    read_ledger(text);
  } catch (const syclamp::invalid_argument& problem) {
    CHECK(std::string(problem.what()).size() > 10);
  }
}

const std::string short_csv = "step,outcome,scale,next_scale,amax,flags,elements\n1,applied,2,4,1,0,8\n";
const std::string short_json =
    R"({"step":1,"outcome":"applied","scale":2,"next_scale":4,"amax":1,"flags":0,"elements":8})";

}  // namespace

TEST_CASE("a ledger is read back to the bit, in every form") {
  std::vector<ledger_entry> entries{odd_entry(), {}, odd_entry()};
  entries[2].first_nonfinite_name = " Gewicht ü\t\\ ";
  for (const std::string& text : all_forms(entries)) {
    CAPTURE(text);
    CHECK(same(read_ledger(text), entries));
  }
  CHECK(read_ledger("").empty());
  CHECK(read_ledger(" \n\n").empty());
  CHECK(read_ledger("[ ]").empty());
  CHECK(read_ledger(written({}, ledger_format::csv)).empty());
}

TEST_CASE("every outcome and every status is written by its name") {
  std::vector<ledger_entry> entries(10);
  for (std::uint32_t i = 0; i < 10; ++i) {
    entries[i].record.outcome = static_cast<syclamp::step_outcome>(i);
    entries[i].record.status = static_cast<syclamp::step_status>(i % 6);
  }
  for (const std::string& text : all_forms(entries)) CHECK(same(read_ledger(text), entries));
  CHECK_THAT(written(entries, ledger_format::csv), ContainsSubstring(",skipped_scale_held,too_many_skips,"));
  CHECK_THAT(written(entries, ledger_format::json_lines), ContainsSubstring("\"status\":\"too_many_skips\""));
}

TEST_CASE("any FP32 that is finite is read back, in every form") {
  std::mt19937 random(7);
  std::vector<ledger_entry> entries;
  while (entries.size() < 3000) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    entries.emplace_back().record.norm = value;
  }
  for (const std::string& text : all_forms(entries)) CHECK(same(read_ledger(text), entries));
}

TEST_CASE("numbers are as short as they can be") {
  ledger_entry entry;
  entry.record.scale = 65536.0f;
  entry.record.norm = 0.1f;
  entry.record.amax = 1e-45f;
  const std::string line = written({entry}, ledger_format::json_lines);

  CHECK_THAT(line, ContainsSubstring("\"scale\":65536,"));
  CHECK_THAT(line, ContainsSubstring("\"norm\":0.1,"));
  CHECK_THAT(line, ContainsSubstring("\"amax\":1e-45,"));
}

TEST_CASE("missing values and values that are not finite are empty or null") {
  ledger_entry entry;
  entry.record.norm = inf;
  entry.record.amax = std::nanf("");
  entry.record.scale = 2.0f;
  const std::string csv = written({entry}, ledger_format::csv), json = written({entry}, ledger_format::json_lines);

  CHECK(csv.ends_with(",,,,\n"));  // tensor, element, headroom, name
  for (const char* name : {"norm", "amax", "headroom", "first_nonfinite", "first_nonfinite_tensor"})
    CHECK_THAT(json, ContainsSubstring("\"" + std::string(name) + "\":null"));
  for (const std::string& text : {csv, json}) {
    const syclamp::step_record read = read_ledger(text).at(0).record;
    CHECK(std::isnan(read.norm));
    CHECK(std::isnan(read.amax));
    CHECK(read.scale == 2.0f);
    CHECK(read.first_nonfinite == syclamp::no_element);
    CHECK(read.first_nonfinite_tensor == syclamp::no_element);
  }
}

TEST_CASE("headroom is written") {
  ledger_entry entry;
  entry.record.amax = 65504.0f / 1024;
  CHECK_THAT(written({entry}, ledger_format::json_lines), ContainsSubstring("\"headroom\":10,"));
}

TEST_CASE("columns may be in any order, more than are known, and with the line ends of others") {
  CHECK(read_ledger(short_csv).at(0).record.elements == 8);
  CHECK(read_ledger(short_json).at(0).record.elements == 8);

  const std::string text =
      "\xef\xbb\xbf"
      "\r\n\"amax\",mine,elements,flags,next_scale,scale,outcome,step\r\n"
      "1,\"a \"\"b\"\"\r\nc\",8,0,4,2,applied,1\r\n\r\n"
      "1,,8,0,4,2,applied,7";
  const auto entries = read_ledger(text);
  REQUIRE(entries.size() == 2);
  CHECK(same(entries[0], read_ledger(short_csv)[0]));
  CHECK(entries[1].record.step == 7);

  const std::string json = replaced(short_json, "{", R"({"mine": {"step": [5, {"step": 6}]}, "step2": "}",)");
  CHECK(same(read_ledger(json), read_ledger(short_json)));
}

TEST_CASE("a ledger without a column of importance is refused by its name and line") {
  for (const std::string name : {"step", "outcome", "scale", "next_scale", "amax", "flags", "elements"}) {
    CAPTURE(name);
    const std::string text = (name == "step" ? "" : ",") + name + (name == "step" ? "," : "");
    CHECK_THROWS_WITH(read_ledger(replaced(short_csv, text, name == "step" ? "mine," : ",mine")),
                      ContainsSubstring("line 1: the field \"" + name + "\" is missing"));
    CHECK_THROWS_WITH(read_ledger(short_json + "\n\n" + replaced(short_json, '"' + name + '"', "\"mine\"")),
                      ContainsSubstring("line 3: the field \"" + name + "\" is missing"));
  }
}

TEST_CASE("values that cannot be are refused with column, value and line") {
  struct wrong {
    std::string old, by, complaint;
  };
  const std::vector<wrong> in_csv{
      {"\n1,", "\n-1,", "step is \"-1\""},
      {"\n1,", "\n18446744073709551616,", "step is \"18446744073709551616\""},
      {"\n1,", "\n1.0,", "step is \"1.0\""},
      {"\n1,", "\n 1,", "step is \" 1\""},
      {"\n1,", "\n,", "step is empty"},
      {",0,8", ",4294967296,8", "flags is"},
      {"applied", "flown", "outcome is \"flown\"; it must be one of applied, skipped_inf"},
      {"applied", "unknown", "outcome is \"unknown\""},
      {"applied", "", "outcome is empty"},
      {",2,", ",1e39,", "scale is \"1e39\""},
      {",2,", ",0x2,", "scale is \"0x2\""},
      {",2,", ",2 4,", "scale is \"2 4\""},
      {",8\n", "\n", "6 columns, but the first line names 7"},
      {",8\n", ",8,9\n", "8 columns, but the first line names 7"},
      {",8\n", ",\"8\n", "not closed"},
      {",8\n", ",8\"\n", "quote"},
      {",8\n", ",\"8\"8\n", "closing quote"},
      {",8\n", ",8\r9\n", "line break"},
  };
  for (const wrong& mistake : in_csv)
    CHECK_THROWS_WITH(read_ledger(replaced(short_csv, mistake.old, mistake.by)),
                      ContainsSubstring("line 2") && ContainsSubstring(mistake.complaint));
  const std::vector<wrong> in_json{
      {"\"step\":1", "\"step\":\"1\"", "step is \"1\""},
      {"\"step\":1", "\"step\":1.5", "step is"},
      {"\"step\":1", "\"step\":-1", "step is"},
      {"\"step\":1", "\"step\":null", "step is empty"},
      {"\"step\":1", "\"step\":[1]", "step is neither"},
      {"\"step\":1", "\"step\":true", "step is neither"},
      {"\"step\":1", "\"step\":1,\"step\":1", "step appears twice"},
      {"\"step\":1", "\"step\":", "not a JSON object"},
      {"\"step\":1", "\"step\":1e999", "not a JSON object"},
      {"\"applied\"", "7", "outcome is"},
      {"\"scale\":2", "\"scale\":\"2\"", "scale is"},
      {"\"scale\":2", "\"scale\":1e39", "scale is \"1e39\""},
      {"}", ",\"first_nonfinite_name\":5}", "first_nonfinite_name is"},
      {"8}", "8", "not closed"},
      {"8}", "8}}", "must begin"},
      {"8}", "8},", "must begin"},
  };
  for (const wrong& mistake : in_json)
    CHECK_THROWS_WITH(read_ledger("\n" + replaced(short_json, mistake.old, mistake.by)),
                      ContainsSubstring("line 2") && ContainsSubstring(mistake.complaint));
  CHECK_THROWS_WITH(read_ledger(replaced(short_csv, "amax", "step")), ContainsSubstring("step appears twice"));
  CHECK_THROWS_WITH(read_ledger("[" + short_json), ContainsSubstring("not closed"));
  CHECK_THROWS_WITH(read_ledger("[" + short_json + "] 1"), ContainsSubstring("follows"));
  CHECK_THROWS_WITH(read_ledger("[" + short_json + short_json + "]"), ContainsSubstring("commas"));
  CHECK_THROWS_WITH(read_ledger("[" + short_json + ",]"), ContainsSubstring("must begin"));
  CHECK_THROWS_WITH(read_ledger(replaced(short_csv, "step,", "\"my\nown\",step,")), ContainsSubstring("line 3"));
  CHECK_THROWS_WITH(read_ledger("not a ledger"), ContainsSubstring("the field \"step\" is missing"));
}

TEST_CASE("columns under their former names are read, and messages name them as the file does") {
  const std::string old_csv = replaced(short_csv, "flags", "findings"),
                    old_json = replaced(short_json, "flags", "findings");
  CHECK(same(read_ledger(old_csv), read_ledger(short_csv)));
  CHECK(same(read_ledger(old_json), read_ledger(short_json)));
  CHECK_THROWS_WITH(read_ledger(replaced(old_csv, ",0,8", ",-1,8")), ContainsSubstring("findings is \"-1\""));
  CHECK_THROWS_WITH(read_ledger(replaced(old_csv, "amax", "flags")),
                    ContainsSubstring("flags and findings are the same field"));
  CHECK_THROWS_WITH(read_ledger(replaced(old_json, "{", "{\"flags\":0,")),
                    ContainsSubstring("flags and findings are the same field"));
}

// Without the line's end, CSV cannot tell a name that was cut short.
TEST_CASE("a ledger that was cut short gives its first records, or is refused") {
  const std::vector<ledger_entry> entries{odd_entry(), {}};
  for (const std::string& text : all_forms(entries)) {
    for (std::size_t size = 0; size < text.size(); ++size) {
      std::vector<ledger_entry> read;
      try {
        read = read_ledger(text.substr(0, size));
      } catch (const syclamp::invalid_argument&) {
        continue;
      }
      CAPTURE(text, size);
      REQUIRE(read.size() <= entries.size());
      for (std::size_t i = 0; i < read.size(); ++i) {
        REQUIRE(same_bits(read[i].record, entries[i].record));
        REQUIRE(entries[i].first_nonfinite_name.starts_with(read[i].first_nonfinite_name));
      }
    }
  }
}

TEST_CASE("random damage to a ledger never does worse than to be refused") {
  std::mt19937 random(11);
  for (const std::string& whole : all_forms({odd_entry(), {}})) {
    for (int i = 0; i < 3000; ++i) {
      std::string text = whole;
      for (auto n = random() % 4; n < 4; ++n) text[random() % text.size()] = static_cast<char>(random());
      read_or_refuse(text);
    }
  }
}

TEST_CASE("hostile ledgers are refused without harm") {
  constexpr std::size_t many = 1 << 20;
  read_or_refuse(std::string(many, '{'));
  read_or_refuse(std::string(many, '['));
  read_or_refuse(std::string(many, ','));
  read_or_refuse(std::string(many, '"'));
  read_or_refuse(replaced(short_json, "{", "{\"deep\":" + std::string(many, '[') + std::string(many, ']') + ","));
  CHECK_THROWS_WITH(read_ledger(replaced(short_csv, "\n1,", "\n" + std::string(many, '9') + ",")),
                    ContainsSubstring("line 2") && ContainsSubstring("…"));
  CHECK_THROWS_WITH(read_ledger(replaced(short_csv, "\n1,", "\n\x1b[2J,")), ContainsSubstring("\\u001b"));
}

TEST_CASE("a ledger of too many steps is refused at the first of them") {
  for (const std::string& whole : all_forms({odd_entry(), {}, odd_entry()})) {
    CHECK(read_ledger(whole, 3).size() == 3);
    CHECK_THROWS_WITH(read_ledger(whole, 2), ContainsSubstring("line ") && ContainsSubstring("more than 2 steps"));
  }
}
