// SPDX-License-Identifier: Apache-2.0
// The library in exit handlers, in destructors of static objects and in forked children: it works, or it says why it
// cannot.
#include <cstdio>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using Catch::Matchers::ContainsSubstring;

namespace {

struct outcome {
  std::string text;
  int status;  ///< 0: the program has ended as it should
};

outcome run(const std::string& ending) {
  std::FILE* program = popen((std::string(SYCLAMP_EXIT_PROGRAM) + " " + ending + " 2>&1").c_str(), "r");
  REQUIRE(program != nullptr);
  std::string text;
  for (int c = std::fgetc(program); c != EOF; c = std::fgetc(program)) text.push_back(static_cast<char>(c));
  return {text, pclose(program)};
}

}  // namespace

TEST_CASE("a process ends in peace with everything still there") {
  const auto [text, status] = run("unused");
  CAPTURE(text);
  CHECK(status == 0);
  CHECK_THAT(text, ContainsSubstring("applied 1"));
}

TEST_CASE("an exit handler that was registered after the first use can do everything but compile and launch") {
  const auto [text, status] = run("after");
  CAPTURE(text);
  CHECK(status == 0);
  CHECK_THAT(text, ContainsSubstring("applied 1"));
  for (const char* subject : {"engine", "queue", "list", "scale", "wait", "preset", "end"})
    CHECK_THAT(text, ContainsSubstring(std::string(subject) + ": done"));
  for (const char* subject : {"step", "inspect", "product"})
    CHECK_THAT(text, ContainsSubstring(std::string(subject) + ": refused, this thread is ending and can no"));
}

TEST_CASE("a thread that it starts can do both, and so can a handler that is the first to use the library") {
  const std::string ending = GENERATE("thread", "only");
  const auto [text, status] = run(ending);
  CAPTURE(text);
  CHECK(status == 0);
  CHECK_THAT(text, ContainsSubstring(ending == "thread" ? "applied 2" : "applied 1"));
  for (const char* subject :
       {"step", "engine", "queue", "list", "inspect", "product", "scale", "wait", "preset", "end"})
    CHECK_THAT(text, ContainsSubstring(std::string(subject) + ": done"));
}

TEST_CASE("an exit handler or a static object that is older than the first engine is told that SYCL is gone") {
  const auto [text, status] = run(GENERATE("before", "static"));
  CAPTURE(text);
  CHECK(status == 0);
  for (const char* subject : {"step", "engine", "queue", "list", "inspect", "product", "scale", "wait"})
    CHECK_THAT(text, ContainsSubstring(std::string(subject) + ": refused, the process is exiting"));
  for (const char* subject : {"preset", "end"}) CHECK_THAT(text, ContainsSubstring(std::string(subject) + ": done"));
}

TEST_CASE("a forked child is told that SYCL is lost, ends as any process does, and leaves its parent alone") {
  const auto [text, status] = run("fork");
  CAPTURE(text);
  CHECK(status == 0);
  for (const char* subject : {"step", "engine", "queue", "list", "inspect", "product", "scale", "wait", "array"})
    CHECK_THAT(text, ContainsSubstring(std::string(subject) + ": refused, this process was forked after"));
  for (const char* subject : {"preset", "end"}) CHECK_THAT(text, ContainsSubstring(std::string(subject) + ": done"));
  CHECK_THAT(text, ContainsSubstring("child: 0\n"));
  CHECK_THAT(text, ContainsSubstring("applied 2\nparent: done"));
}

TEST_CASE("a child that was forked before the first engine can use the library") {
  const auto [text, status] = run("early-fork");
  CAPTURE(text);
  CHECK(status == 0);
  CHECK_THAT(text, ContainsSubstring("applied 1\nchild: 0\napplied 1\n"));
}
