// SPDX-License-Identifier: Apache-2.0
// Files of every version still load: those of tests/fixtures/state, which were written by the library of their time,
// and those of a format that is made up here and gets new fields.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "state/codec/state_codec.hpp"
#include "state/codec/state_fields.hpp"
#include "syclamp/error.hpp"
#include "syclamp/ledger.hpp"
#include "syclamp/scaler_snapshot.hpp"
#include "tests/support/state_equality.hpp"

using Catch::Matchers::ContainsSubstring;
using syclamp::json;
namespace fs = std::filesystem;

// --- A format that grows ---------------------------------------------------------------------------------------------

namespace {

enum class colour : std::uint32_t { red, green };

/// Version 1 had `count` under the name `number`, and a colour. Version 2 has them, a ratio, a text and a list.
struct sample {
  std::uint32_t count = 1;
  colour paint = colour::red;
  float ratio = 0.5f;
  std::string label = "none";
  std::vector<std::uint32_t> sizes = {};
};

constexpr const char* to_string(colour value) {
  switch (value) {
    case colour::red: return "red";
    case colour::green: return "green";
  }
  return "";
}

}  // namespace

template <>
struct syclamp::description<sample> {
  static constexpr auto fields = std::tuple{
      field{"count", &sample::count}.renamed(2, "number"), field{"paint", &sample::paint},
      field{"ratio", &sample::ratio}.added_in(2, 0.25f),  // older files behave as if it were 0.25
      field{"label", &sample::label}.added_in(2),          field{"sizes", &sample::sizes}.added_in(2),
  };
  static constexpr std::size_t unused = 0;
};

template <>
inline constexpr std::array syclamp::former_names<colour>{std::pair{std::string_view("verdant"), colour::green}};

namespace {

constexpr std::uint32_t newest_sample = syclamp::newest_field<sample>();

sample decoded(const char* text, std::uint32_t version) {
  sample value;
  syclamp::state_codec::check_version(version, "version", newest_sample);
  syclamp::state_codec::decode_fields(json::parse(text), value, "sample", version);
  return value;
}

}  // namespace

TEST_CASE("the version of a format is that of its newest field") {
  CHECK(newest_sample == 2);
  CHECK(syclamp::newest_field<syclamp::scale_number>() == 1);
}

TEST_CASE("a field that came with version 2 has its default after loading a file of version 1") {
  const sample old = decoded(R"({"number": 7, "paint": "green"})", 1);
  CHECK(old.count == 7);
  CHECK(old.paint == colour::green);
  CHECK(old.ratio == 0.25f);
  CHECK(old.label == "none");
  CHECK(old.sizes.empty());

  const json written = syclamp::state_codec::encode_fields(old);
  CHECK(written.dump() == R"({"count":7,"paint":"green","ratio":0.25,"label":"none","sizes":[]})");
  CHECK(decoded(R"({"count": 3, "paint": "red", "ratio": 2, "label": "x", "sizes": [4]})", 2).sizes.at(0) == 4);
}

TEST_CASE("a value that was renamed is read under its former name") {
  CHECK(decoded(R"({"number": 7, "paint": "verdant"})", 1).paint == colour::green);
  CHECK_THROWS_WITH(decoded(R"({"number": 7, "paint": "blue"})", 1), ContainsSubstring("it must be one of red, green"));
}

TEST_CASE("a file that lacks a field of its own version, or has one of another, is refused") {
  CHECK_THROWS_WITH(decoded(R"({"count": 3, "paint": "red", "label": "x", "sizes": []})", 2),
                    "sample: the field \"ratio\" is missing; the file is incomplete or was written by a newer version");
  CHECK_THROWS_WITH(decoded(R"({"count": 3, "paint": "red"})", 1),
                    ContainsSubstring("the field \"number\" is missing"));
  CHECK_THROWS_WITH(decoded(R"({"number": 3, "paint": "red", "ratio": 1})", 1),
                    ContainsSubstring("sample: the field \"ratio\" is unknown"));
  CHECK_THROWS_WITH(decoded(R"({"number": 3, "paint": "red", "ratio": 1, "label": "x", "sizes": []})", 2),
                    ContainsSubstring("the field \"count\" is missing"));
}

TEST_CASE("a file of a newer version is refused as such") {
  CHECK_THROWS_WITH(
      decoded("{}", 3),
      "version is 3, which a newer syclamp has written; this one reads versions 1 to 2, so use the newer one");
  CHECK_THROWS_WITH(decoded("{}", 0), ContainsSubstring("at least 1"));
}

// --- Files of the past -----------------------------------------------------------------------------------------------

namespace {

const fs::path fixtures = fs::path(SYCLAMP_SOURCE_DIR) / "tests/fixtures/state";

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<fs::path> fixture_folders() {
  std::vector<fs::path> folders;
  for (std::uint32_t version = 1; version <= syclamp::newest_version; ++version) {
    const fs::path folder = fixtures / ("v" + std::to_string(version));
    // The newest version may still be in the making.
    if (version < syclamp::newest_version || exists(folder)) folders.push_back(folder);
  }
  return folders;
}

/// What the ledger of every fixture says: the second of four steps has overflowed.
void check_ledger(const std::vector<syclamp::ledger_entry>& ledger) {
  using syclamp::step_outcome;
  REQUIRE(ledger.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const syclamp::step_record& record = ledger[i].record;
    CHECK(record.step == i + 1);
    CHECK(record.outcome == (i == 1 ? step_outcome::skipped_inf : step_outcome::applied));
    CHECK(record.flags == (i == 1 ? syclamp::found_inf : syclamp::found_nothing));
    CHECK(record.lists == 1);
    CHECK(record.skipped_lists == (i == 1 ? 1 : 0));
    CHECK(record.elements == 3);
    CHECK(ledger[i].first_nonfinite_name == (i == 1 ? "layer.weight" : ""));
  }
  CHECK(ledger[1].record.inf_count == 1);
  CHECK(ledger[1].record.first_nonfinite == 1);
  CHECK(ledger[0].record.first_nonfinite == syclamp::no_element);
  CHECK(ledger[3].record.next_scale == 8.0f);
}

}  // namespace

TEST_CASE("a snapshot of every version loads, and says the same") {
  REQUIRE(fixture_folders().size() >= 3);
  for (const fs::path& folder : fixture_folders()) {
    CAPTURE(folder);
    const syclamp::scaler_snapshot snapshot = syclamp::load_snapshot(folder / "scaler.json");
    CHECK(snapshot.policy.init_scale == 8);
    CHECK(snapshot.policy.growth_interval == 2);
    REQUIRE(snapshot.scales.size() == 1);
    CHECK(snapshot.scales[0].scale == 8.0f);
    CHECK(snapshot.scales[0].attempted == 4);
    CHECK(snapshot.scales[0].skipped == 1);
    check_ledger(snapshot.ledger);
    CHECK(same(syclamp::snapshot_from_json(to_json(snapshot)), snapshot));
    // Versions 1 and 2 could save a snapshot in binary, which is the one within their checkpoints.
    if (exists(folder / "scaler.bin")) CHECK(same(syclamp::load_snapshot(folder / "scaler.bin"), snapshot));
  }
}

TEST_CASE("a snapshot's fixture is of the version that its folder names") {
  for (const fs::path& folder : fixture_folders()) {
    CAPTURE(folder);
    const json document = json::parse(content_of(folder / "scaler.json"));
    CHECK("v" + std::to_string(document.at("version").get<int>()) == folder.filename());
  }
}

TEST_CASE("a ledger of every version is read, in both forms") {
  for (const fs::path& folder : fixture_folders()) {
    CAPTURE(folder);
    const auto lines = syclamp::read_ledger(content_of(folder / "ledger.jsonl"));
    check_ledger(lines);
    CHECK(same(syclamp::read_ledger(content_of(folder / "ledger.csv")), lines));
  }
}
