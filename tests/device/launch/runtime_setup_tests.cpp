// SPDX-License-Identifier: Apache-2.0
// What loading the library changes in a process, and when it changes nothing.
#include <cstdio>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using Catch::Matchers::ContainsSubstring;

namespace {

/// What the program prints in an environment without drivers but for `variables`.
std::string run(const std::string& variables) {
  const std::string clean = "env -u LD_LIBRARY_PATH -u OCL_ICD_FILENAMES -u OCL_ICD_VENDORS ";
  std::FILE* program = popen((clean + variables + " " + SYCLAMP_RUNTIME_SETUP_PROGRAM + " 2>&1").c_str(), "r");
  REQUIRE(program != nullptr);
  std::string text;
  for (int c = std::fgetc(program); c != EOF; c = std::fgetc(program)) text.push_back(static_cast<char>(c));
  CHECK(pclose(program) == 0);
  return text;
}

}  // namespace

TEST_CASE("in an empty environment the CPU's driver is found beside the runtime") {
  const std::string text = run("");
  if (text.find("drivers: unset") != text.npos) SKIP("there is no CPU driver beside this runtime");
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("libintelocl.so\nloader: loaded\n"));
  CHECK_THAT(text, ContainsSubstring("device: found"));
}

TEST_CASE("a process that inherits the set-up of its parent is set up as well") {
  const std::string first = run("");
  const std::string::size_type begin = std::string("drivers: ").size();
  const std::string list = first.substr(begin, first.find('\n') - begin);
  if (list == "unset") SKIP("there is no CPU driver beside this runtime");
  const std::string text = run("OCL_ICD_FILENAMES=" + list);
  CAPTURE(text);
  CHECK(text == first);
}

TEST_CASE("nothing is changed for a user who has said where drivers are") {
  const std::string text = run("OCL_ICD_FILENAMES=/none/driver.so");
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("drivers: /none/driver.so\nloader: not loaded\n"));
}

TEST_CASE("nothing is changed for a user who has named a folder of drivers, or has switched the set-up off") {
  const std::string variable = GENERATE("OCL_ICD_VENDORS=/none", "SYCLAMP_RUNTIME_SETUP=off");
  const std::string text = run(variable);
  CAPTURE(text);
  CHECK_THAT(text, ContainsSubstring("drivers: unset\nloader: not loaded\n"));
  if (text.find("device: found") == text.npos)
    CHECK_THAT(text, ContainsSubstring(variable.substr(0, variable.find('=')) + " is \""));
}
