// SPDX-License-Identifier: Apache-2.0
// How much a document may hold. What else is refused, the tests of states and checkpoints say.
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/json_reader.hpp"
#include "syclamp/error.hpp"

using Catch::Matchers::ContainsSubstring;
using syclamp::json;

namespace {

/// An array of `count` empty arrays, a byte each but for the first one's head.
std::string array_of_arrays(std::size_t count) {
  std::string bytes = "\x9a";
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(count >> shift & 0xff);
  return bytes + std::string(count, '\x80');
}

}  // namespace

TEST_CASE("CBOR may hold two million values, however they are nested, and not one more") {
  constexpr std::size_t half = syclamp::max_values / 2;
  // Three arrays are values, too: the outer one and the two in it.
  const json document = syclamp::read_cbor("\x82" + array_of_arrays(half - 2) + array_of_arrays(half - 1), "it");
  CHECK(syclamp::values_in(document) == syclamp::max_values);
  CHECK_THROWS_WITH(syclamp::read_cbor("\x82" + array_of_arrays(half - 1) + array_of_arrays(half - 1), "it"),
                    ContainsSubstring("it: it holds more than 2097152 values"));
}

TEST_CASE("what a document gives away on the way does not count") {
  constexpr std::size_t count = syclamp::max_values / 3;
  std::string bytes = "\xa1\x64list";
  bytes += "\x9a";
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(count >> shift & 0xff);
  for (std::size_t i = 0; i < count; ++i) bytes += "\xa1\x61k\x83\x01\x02\x03";  // {"k": [1, 2, 3]}
  std::size_t taken = 0;
  const json rest =
      syclamp::read_cbor(bytes, "it", {{"list"}, [&](const std::string& key, const json&, json&& element) {
                                         taken += key == "list" && syclamp::values_in(element) == 5 ? 1 : 0;
                                       }});
  CHECK(taken == count);
  CHECK(rest == json{{"list", json::array()}});
  CHECK_THROWS_WITH(syclamp::read_cbor(bytes, "it"), ContainsSubstring("more than 2097152 values"));
}

TEST_CASE("only objects of arrays are given away, not objects of objects") {
  const json document = {{"list", {{"a", {{"b", 1}}}}}};
  const auto never = [](const std::string&, const json&, json&&) { FAIL("there is no array"); };
  CHECK(syclamp::read_cbor(syclamp::to_cbor(document), "it", {{"list"}, never}) == document);
}

TEST_CASE("the head of a checkpoint of 50 000 tensors, each a group of its own, is within the limits") {
  json group = json::object();  // as many values as a group has: see src/state/optimizer_record.cpp
  for (int i = 0; i < 26; ++i) group[std::to_string(i)] = 1.5;
  json document = json::object();
  document["groups"] = json::array();
  for (int i = 0; i < 50'000; ++i) document["groups"].push_back(group);
  CHECK(syclamp::read_cbor(syclamp::to_cbor(document), "it") == document);
}

TEST_CASE("byte strings come back as they were") {
  const json document = {{"bytes", json::binary({0, 255, 128, 7})}, {"text", "t"}};
  const json read = syclamp::read_cbor(syclamp::to_cbor(document), "it");
  CHECK(read == document);
  CHECK(syclamp::shown(read["bytes"]) == "a byte string");
}

namespace {

std::string refusal_of(const std::string& text) {
  try {
    syclamp::read_json(text, "it");
  } catch (const syclamp::invalid_argument& problem) {
    return problem.what();
  }
  return "";
}

}  // namespace

TEST_CASE("messages are short, whatever was read") {
  constexpr std::size_t many = 3'000'000, longest = 300;
  for (const std::string& text : {std::string(many, '9') + "x", "[1e" + std::string(many, '9') + "]",
                                  '"' + std::string(many, 'a'), "nul" + std::string(many, 'l'),
                                  "{\"" + std::string(many, 'k') + "\": 1, \"" + std::string(many, 'k') + "\": 2}"}) {
    const std::string message = refusal_of(text);
    CAPTURE(message.size());
    CHECK(message.starts_with("it: "));
    CHECK(message.size() < longest);
  }
  CHECK(syclamp::shown(std::string(many, 'a')).size() < longest);
  CHECK(syclamp::shown(std::string("\x1b[2J")) == "\"\\u001b[2J\"");
}

TEST_CASE("objects come one by one, with their lines and their members as they were written, within limits") {
  using syclamp::member_kind;
  std::string noted;
  const syclamp::object_handler note{[&](std::size_t line) { noted += std::to_string(line) + "( "; },
                                     [&](const std::string& key, member_kind kind, const std::string& value) {
                                       noted += key + ':' + std::to_string(static_cast<int>(kind)) + value + ' ';
                                     },
                                     [&] { noted += ") "; }};
  const std::string first = R"({"a": 0.1000, "b": "x", "c": null, "d": true, "e": {"f": [1]}, "g": -3})";
  for (const std::string& text : {first + "\n\n{\"h\":\n1}\n{}", "[" + first + ",\n\n{\"h\":\n1},\n{}]\n"}) {
    noted.clear();
    syclamp::read_objects(text, "it", note);
    CHECK(noted == "1( a:10.1000 b:2x c:0 d:3 e:3 g:1-3 ) 3( h:11 ) 5( ) ");
  }
  noted.clear();
  for (const std::string text : {"", " \n", "[]", "[ ] \n"}) syclamp::read_objects(text, "it", note);
  CHECK(noted.empty());
  for (const std::string& text : {std::string("{\"a\": 1"), std::string("{\"a\": ") + std::string(1 << 20, '['),
                                  std::string("{]"), std::string("[[{}]]"), std::string("[1]"), std::string("[{}"),
                                  std::string("[{}]{}"), std::string("{}]"), std::string("1"), std::string("null"),
                                  std::string("[{},]"), std::string("[{}{}]"), std::string(1 << 20, '[')}) {
    CAPTURE(text.substr(0, 20));
    CHECK_THROWS_AS(syclamp::read_objects(text, "it", note), syclamp::invalid_argument);
  }
}
