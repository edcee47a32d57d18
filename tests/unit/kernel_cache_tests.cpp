// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <pwd.h>
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
#include "tests/support/temporary_folder.hpp"

using syclamp::launch::jit::kernel_cache;
namespace fs = std::filesystem;

namespace {

const std::string key = "compiler 1\nsource of a kernel";
const std::vector<char> content = {'k', 'e', 'r', '\0', 'n', 'e', 'l'};

/// Counts the warnings that are given while it lives.
struct warning_count {
  warning_count()
      : previous(syclamp::on_warning([this](std::string_view line) {
          ++count;
          last = line;
        })) {}
  ~warning_count() { syclamp::on_warning(previous); }
  int count = 0;
  std::string last;
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

constexpr uid_t somebody = 12'345, somebody_else = 12'346;

/// Runs `action` as another user, in a process of its own, which a signal ends if it takes too long.
/// \return what `action` returns
template <typename Action>
int result_as(uid_t user, Action action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    if (user != geteuid() && setuid(user) != 0) _exit(99);
    _exit(action());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

void set_last_use(const fs::path& file, time_t when) {
  const timespec times[] = {{when, 0}, {when, 0}};
  REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

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

TEST_CASE("a folder below one that others may write to is not trusted, unless that is sticky") {
  const temporary_folder folder;
  const fs::path parent = folder.path() / "parent", link = folder.path() / "link";
  fs::create_directories(parent / "cache");
  fs::create_symlink(parent / "cache", link);
  for (const fs::path& path : {parent / "cache", link}) {
    const kernel_cache cache(path);
    chmod(parent.c_str(), 0755);
    cache.store(key, content);
    REQUIRE(cache.load(key) == content);
    const warning_count warnings;
    for (const mode_t mode : {0777, 0775, 0757}) {
      CAPTURE(mode, path);
      chmod(parent.c_str(), mode);
      CHECK_FALSE(cache.load(key));
      CHECK(warnings.last.find("other users may write to " + parent.string()) != std::string::npos);
    }
    chmod(parent.c_str(), 01777);
    CHECK(cache.load(key) == content);
    CHECK(warnings.count == 3);
  }
}

TEST_CASE("whoever can only exchange the folder never has their kernels loaded") {
  if (geteuid() != 0) SKIP("only root can act as two users");
  const temporary_folder folder;
  const fs::path shared = folder.path() / "shared", cache_folder = shared / "cache", theirs = shared / "theirs";
  fs::create_directory(shared);
  chmod(folder.path().c_str(), 0755);
  chmod(shared.c_str(), 0777);
  const kernel_cache cache(cache_folder);
  const std::vector<char> evil = {'e', 'v', 'i', 'l'};
  const warning_count quiet;
  REQUIRE(result_as(somebody_else, [&] {
            mkdir(theirs.c_str(), 0755);
            std::error_code failed;
            fs::copy_file("/dev/null", theirs / cache.file_of(key).filename(), failed);
            return 0;
          }) == 0);
  // With a file that is right but for its owner.
  kernel_cache(folder.path() / "forge").store(key, evil);
  fs::rename(folder.path() / "forge" / cache.file_of(key).filename(), theirs / cache.file_of(key).filename());
  REQUIRE(lchown(theirs.c_str(), somebody_else, somebody_else) == 0);
  REQUIRE(lchown((theirs / cache.file_of(key).filename()).c_str(), somebody_else, somebody_else) == 0);
  fs::rename(theirs, cache_folder);
  const auto loads = [&] { return cache.load(key) ? 1 : 0; };
  CHECK(result_as(somebody, loads) == 0);
  CHECK(loads() == 0);
  // Nor a link to their folder, nor their file in a folder of ours.
  fs::rename(cache_folder, theirs);
  fs::create_symlink(theirs, cache_folder);
  CHECK(loads() == 0);
  const kernel_cache own(folder.path() / "own");
  own.store(key, evil);
  REQUIRE(lchown(own.file_of(key).c_str(), somebody_else, somebody_else) == 0);
  CHECK_FALSE(own.load(key));
  chown(own.file_of(key).c_str(), 0, 0);
  CHECK(own.load(key) == evil);
  chmod(own.file_of(key).c_str(), 0666);
  CHECK_FALSE(own.load(key));
}

TEST_CASE("a pipe, a link or a folder in the place of a file is refused at once") {
  const temporary_folder folder;
  const kernel_cache cache(folder.path());
  cache.store(key, content);
  const fs::path kept = folder.path() / "kept";
  fs::rename(cache.file_of(key), kept);
  const auto is_refused = [&] {
    const warning_count warnings;
    return !cache.load(key) && warnings.count == 1 ? 7 : 1;
  };
  REQUIRE(mkfifo(cache.file_of(key).c_str(), 0600) == 0);
  CHECK(result_as(geteuid(), is_refused) == 7);
  cache.store(key, content);  // takes its place
  CHECK(cache.load(key) == content);
  fs::remove(cache.file_of(key));
  fs::create_symlink(kept, cache.file_of(key));
  CHECK(result_as(geteuid(), is_refused) == 7);
  fs::remove(cache.file_of(key));
  fs::create_directory(cache.file_of(key));
  CHECK(result_as(geteuid(), is_refused) == 7);
}

TEST_CASE("a cache of root is for everybody to read; what others compile goes to their own") {
  if (geteuid() != 0) SKIP("only root can make it");
  const temporary_folder folder;
  chmod(folder.path().c_str(), 0755);
  const fs::path site = folder.path() / "site", home = folder.path() / "home";
  fs::create_directory(site);
  fs::create_directory(home);
  chmod(site.c_str(), 0755);
  REQUIRE(chown(home.c_str(), somebody, somebody) == 0);
  const mode_t mask = umask(022);
  kernel_cache(site).store(key, content);
  umask(mask);
  const environment_variable named("SYCLAMP_CACHE_DIR", site.c_str());
  const environment_variable own("XDG_CACHE_HOME", home.c_str());
  const std::string other_key = "another kernel";

  CHECK(kernel_cache::from_environment().size() == 1);  // root may write there
  CHECK(result_as(somebody, [&] {
          const warning_count warnings;
          const std::vector<kernel_cache> caches = kernel_cache::from_environment();
          if (caches.size() != 2 || caches[0].load(key) != content || caches[1].load(key)) return 1;
          if (caches[0].load(other_key)) return 2;
          caches.back().store(other_key, content);
          if (caches[1].load(other_key) != content || !fs::exists(home / "syclamp")) return 3;
          return warnings.count == 0 ? 0 : 4;
        }) == 0);
  CHECK(std::distance(fs::directory_iterator(site), {}) == 1);
}

TEST_CASE("what has not been used for longest is forgotten when the cache is full") {
  const temporary_folder folder;
  const std::vector<char> large(1000, 'x');
  const kernel_cache cache(folder.path(), 3500);
  for (const char* name : {"a", "b", "c"}) cache.store(name, large);
  for (time_t when = 1000; const char* name : {"a", "b", "c"}) set_last_use(cache.file_of(name), when++);
  const auto changed_before = fs::last_write_time(cache.file_of("a"));
  REQUIRE(cache.load("a"));  // so `b` is the oldest
  CHECK(fs::last_write_time(cache.file_of("a")) == changed_before);
  std::ofstream(folder.path() / "of somebody") << std::string(10'000, 'x');

  cache.store("d", large);
  CHECK(cache.load("a"));
  CHECK_FALSE(cache.load("b"));
  CHECK(cache.load("c"));
  CHECK(cache.load("d"));
  CHECK(fs::exists(folder.path() / "of somebody"));

  cache.store("e", std::vector<char>(5000, 'x'));  // larger than all that there may be: it is kept alone
  CHECK(cache.load("e"));
  for (const char* name : {"a", "c", "d"}) CHECK_FALSE(cache.load(name));
  const kernel_cache unlimited(folder.path(), 0);
  unlimited.store("f", large);
  CHECK(unlimited.load("e"));
}

TEST_CASE("the environment says how large the cache may be") {
  const temporary_folder folder;
  const environment_variable named("SYCLAMP_CACHE_DIR", folder.path().c_str());
  const environment_variable size("SYCLAMP_CACHE_SIZE", "1");
  const std::vector<char> large(400'000, 'x');
  const warning_count warnings;
  for (const char* name : {"a", "b", "c"}) kernel_cache::from_environment().back().store(name, large);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
  CHECK(warnings.count == 0);
  for (const char* wrong : {"1 GB", "-1", "99999999999999999999"}) {
    setenv("SYCLAMP_CACHE_SIZE", wrong, 1);
    kernel_cache::from_environment();
    CHECK(warnings.last.find("SYCLAMP_CACHE_SIZE") != std::string::npos);
    CHECK(warnings.last.find(wrong) != std::string::npos);
  }
}

TEST_CASE("a user without a home is told once that kernels are not kept") {
  if (geteuid() != 0) SKIP("only root can become such a user");
  const environment_variable off("SYCLAMP_CACHE", nullptr), folder("SYCLAMP_CACHE_DIR", nullptr),
      xdg("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
  const auto store_three_times = [&] {
    const warning_count warnings;
    for (int i = 0; i < 3; ++i) kernel_cache::from_environment().back().store(key, content);
    if (!kernel_cache::default_folder().empty()) return 1;
    return warnings.count == 1 && warnings.last.find("SYCLAMP_CACHE_DIR") != std::string::npos ? 0 : 2;
  };
  CHECK(result_as(somebody, store_three_times) == 0);
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
  // The home that the system knows, for daemons and jobs without HOME.
  unsetenv("HOME");
  const passwd* user = getpwuid(geteuid());
  const bool has_home = user != nullptr && fs::is_directory(user->pw_dir);
  CHECK(kernel_cache::default_folder() == (has_home ? fs::path(user->pw_dir) / ".cache" / "syclamp" : fs::path()));
}
