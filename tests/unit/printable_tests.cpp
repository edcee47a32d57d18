// SPDX-License-Identifier: Apache-2.0
#include "support/printable.hpp"

#include <string>

#include <catch2/catch_test_macros.hpp>

using syclamp::printable;

TEST_CASE("a text for a terminal keeps what can be read, and spells out what commands") {
  CHECK(printable("grün, 数, 𝛽: \"a\\b\"") == "grün, 数, 𝛽: \"a\\b\"");
  CHECK(printable("a\nb\tc\r") == "a\\nb\\x09c\\x0d");
  CHECK(printable("\x1b[2J\x7f") == "\\x1b[2J\\x7f");
  CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\x9b31m");  // a command of one character
  CHECK(printable("\xe2\x80\xae"
                  "exe") ==
        "\\u202e"
        "exe");  // from right to left
}

TEST_CASE("bytes that are no UTF-8 are spelt out") {
  CHECK(printable("a\xff"
                  "b") ==
        "a\\xff"
        "b");
  CHECK(printable("\x9b"
                  "31m") == "\\x9b31m");
  CHECK(printable("\xc3") == "\\xc3");                             // cut short
  CHECK(printable("\xc0\x9b") == "\\xc0\\x9b");                    // longer than it needs to be
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // half of a pair
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond the last
}

TEST_CASE("no byte of a terminal's commands is left, whatever the text is") {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const std::string safe = printable(std::string{static_cast<char>(a), static_cast<char>(b)});
      for (const char c : safe) REQUIRE((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
      REQUIRE(printable(safe) == safe);
    }
}
