// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "launch/jit/kernel_cache.hpp"
#include "syclamp/log.hpp"
#include "tests/temporary_folder.hpp"

using syclamp::launch::jit::kernel_cache;
namespace fs = std::filesystem;

namespace {

const std::string key = "compiler 1\nsource of a kernel";
const std::vector<char> content = {'k', 'e', 'r', '\0', 'n', 'e', 'l'};

/// Counts the warnings that are given while it lives.
struct warning_count {
  warning_count() : previous(syclamp::on_warning([this](std::string_view) { ++count; })) {}
  ~warning_count() { syclamp::on_warning(previous); }
  int count = 0;
  syclamp::warning_handler previous;
};

struct environment_variable {
  environment_variable(const char* name, const char* value) : name(name) {
    if (const char* old = std::getenv(name)) before = old;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~environment_variable() { before.empty() ? unsetenv(name) : setenv(name, before.c_str(), 1); }
  const char* name;
  std::string before;
};

}  // namespace

TEST_CASE("what was stored is found again, under its own key only") {
  const temporary_folder folder;
  const kernel_cache cache(folder.path() / "made" / "on demand");
  const warning_count warnings;

  CHECK_FALSE(cache.load(key));
  cache.store(key, content);

  CHECK(cache.load(key) == content);
  CHECK_FALSE(cache.load(key + " "));
  CHECK(warnings.count == 0);
}

TEST_CASE("a file that was cut short anywhere is ignored with one warning, and replaced") {
  const temporary_folder folder;
  const kernel_cache cache(folder.path());
  cache.store(key, content);
  const auto whole = fs::file_size(cache.file_of(key));

  for (std::uintmax_t size = 0; size < whole; ++size) {
    CAPTURE(size);
    fs::resize_file(cache.file_of(key), size);
    const warning_count warnings;
    CHECK_FALSE(cache.load(key));
    CHECK(warnings.count == 1);
    cache.store(key, content);
    CHECK(cache.load(key) == content);
  }
}

TEST_CASE("a file with any byte changed is ignored with one warning") {
  const temporary_folder folder;
  const kernel_cache cache(folder.path());
  cache.store(key, content);
  const auto whole = fs::file_size(cache.file_of(key));

  for (std::uintmax_t at = 0; at < whole; ++at) {
    CAPTURE(at);
    cache.store(key, content);
    std::fstream file(cache.file_of(key), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char flipped = static_cast<char>(file.get() ^ 0x55);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(flipped);
    file.close();
    const warning_count warnings;
    CHECK_FALSE(cache.load(key));
    CHECK(warnings.count == 1);
  }
}

TEST_CASE("a foreign file, and one with another key under the same name, are ignored") {
  const temporary_folder folder;
  const kernel_cache cache(folder.path());
  const warning_count warnings;

  std::ofstream(cache.file_of(key)) << std::string(100, 'x');
  CHECK_FALSE(cache.load(key));
  cache.store("another key", content);
  fs::rename(cache.file_of("another key"), cache.file_of(key));
  CHECK_FALSE(cache.load(key));

  CHECK(warnings.count == 2);
}

TEST_CASE("a folder that others may write to is not trusted") {
  const temporary_folder folder;
  const kernel_cache cache(folder.path());
  cache.store(key, content);
  REQUIRE(cache.load(key));
  const warning_count warnings;

  chmod(folder.path().c_str(), 0777);

  CHECK_FALSE(cache.load(key));
  cache.store(key, content);
  CHECK(warnings.count == 1);
}

TEST_CASE("a folder that cannot be made costs a warning, nothing more") {
  const temporary_folder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  const kernel_cache cache(folder.path() / "file" / "below");
  const warning_count warnings;

  cache.store(key, content);

  CHECK_FALSE(cache.load(key));
  CHECK(warnings.count == 1);
}

TEST_CASE("two processes that store and load at once never see half a file") {
  const temporary_folder folder;
  const kernel_cache cache(folder.path());
  const std::vector<char> large(1 << 20, 'x');

  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      cache.store(key, large);
      if (cache.load(key) != large) return 1;
    }
    return 0;
  };
  const warning_count warnings;
  const pid_t child = fork();
  if (child == 0) _exit(work());
  const int mine = work();
  int status = -1;
  waitpid(child, &status, 0);

  CHECK(mine == 0);
  CHECK(status == 0);
  CHECK(warnings.count == 0);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);  // no temporary file is left
}

TEST_CASE("the environment says where the cache is") {
  const environment_variable off("SYCLAMP_CACHE", nullptr);
  const environment_variable folder("SYCLAMP_CACHE_DIR", nullptr);
  const environment_variable xdg("XDG_CACHE_HOME", "/xdg");
  const environment_variable home("HOME", "/somebody");

  CHECK(kernel_cache::default_folder() == "/xdg/syclamp");
  setenv("XDG_CACHE_HOME", "relative, to be ignored", 1);
  CHECK(kernel_cache::default_folder() == "/somebody/.cache/syclamp");
  setenv("SYCLAMP_CACHE_DIR", "/mine", 1);
  CHECK(kernel_cache::default_folder() == "/mine");
  setenv("SYCLAMP_CACHE", "off", 1);
  CHECK(kernel_cache::default_folder().empty());
  unsetenv("SYCLAMP_CACHE");
  unsetenv("SYCLAMP_CACHE_DIR");
  unsetenv("HOME");
  CHECK(kernel_cache::default_folder().empty());
}
