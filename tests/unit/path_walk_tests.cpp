// SPDX-License-Identifier: Apache-2.0
#include "support/path_walk.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/folder_entries.hpp"
#include "support/whole_file.hpp"
#include "syclamp/error.hpp"
#include "tests/support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

constexpr uid_t somebody = 12'345;
constexpr int no_namespace = 99;

/// Runs `action` as another user in a user namespace that maps only that user, in a process of its own.
/// \return what `action` returns, or `no_namespace`
template <typename Action>
int result_in_namespace(Action action) {
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(somebody) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0 || unshare(CLONE_NEWUSER) != 0) _exit(no_namespace);
    const std::string user = std::to_string(somebody);
    std::ofstream("/proc/self/uid_map") << user + " " + user + " 1";
    if (geteuid() != somebody) _exit(no_namespace);
    _exit(action());
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/// The message of the error that `action` throws, or an empty string.
template <typename Action>
std::string refusal(Action action) {
  try {
    action();
    return {};
  } catch (const syclamp::error& refused) {
    return refused.what();
  }
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a user map hides root only if it maps neither root nor the overflow user") {
  constexpr uid_t overflow = 65'534;
  CHECK(syclamp::hides_root("     12345      12345          1\n", overflow));
  CHECK(syclamp::hides_root("1000 0 1\n1 100000 10\n", overflow));
  CHECK_FALSE(syclamp::hides_root("         0          0 4294967295\n", overflow));
  CHECK_FALSE(syclamp::hides_root("1000 1000 1\n0 100000 1\n", overflow));
  CHECK_FALSE(syclamp::hides_root("1000 1000 65536\n", overflow));  // a file of the overflow user may be its own
  CHECK_FALSE(syclamp::hides_root("", overflow));                   // the map cannot be read
}

TEST_CASE("where a user namespace hides root, root's folders and links are still trusted") {
  if (geteuid() != 0) SKIP("only root can make files of two users");
  const temporary_folder folder;
  const fs::path mine = folder.path() / "mine", system = folder.path() / "system", shared = folder.path() / "shared",
                 open = folder.path() / "open";
  for (const fs::path& each : {mine, system, shared, open}) fs::create_directory(each);
  for (const fs::path& each : {folder.path(), system}) REQUIRE(chmod(each.c_str(), 0755) == 0);
  REQUIRE(chmod(shared.c_str(), 01777) == 0);
  REQUIRE(chmod(open.c_str(), 0777) == 0);
  REQUIRE(chown(mine.c_str(), somebody, somebody) == 0);
  for (const fs::path& each : {system, shared}) fs::create_symlink(mine, each / "link");

  using syclamp::path_trust;
  const auto opens = [](const fs::path& path) {
    return refusal([&] { return syclamp::open_folder(path, path_trust::folders, true).is_open(); });
  };
  const auto writes = [](const fs::path& path) { return refusal([&] { syclamp::write_output(path, "written"); }); };
  const int failed = result_in_namespace([&] {
    if (!opens(mine / "cache").empty()) return 1;
    if (!opens(shared / "cache").empty()) return 2;
    if (!opens(system / "link" / "cache").empty()) return 3;
    if (!writes(system / "link" / "file").empty()) return 4;
    if (!has(opens(open / "cache"), "other users may write to")) return 5;
    if (!has(opens(shared / "link" / "cache"), "is a symbolic link of user")) return 6;
    if (!has(writes(shared / "link" / "other"), "is a symbolic link of user")) return 7;
    return 0;
  });
  if (failed == no_namespace) SKIP("this machine does not let users make namespaces");
  CHECK(failed == 0);
  CHECK(fs::exists(mine / "file"));
  CHECK_FALSE(fs::exists(mine / "other"));
}

TEST_CASE("a path that ends as a folder's name does is refused as an output") {
  const temporary_folder folder;
  const fs::path results = folder.path() / "results";
  fs::create_symlink("results/", folder.path() / "link");
  for (const char* path : {"results/", "results//", "results/.", "link", "link/"}) {
    CAPTURE(path);
    const fs::path file = folder.path() / path;
    CHECK_THROWS_WITH(syclamp::need_writable(file), ContainsSubstring("Is a directory; add a file name to the path"));
    CHECK_THROWS_WITH(syclamp::write_output(file, "x"),
                      ContainsSubstring("Is a directory; add a file name to the path"));
  }
  CHECK_FALSE(fs::exists(results));
  CHECK(syclamp::open_folder(folder.path() / "", syclamp::path_trust::links).is_open());
  syclamp::write_output(folder.path() / "" / "." / "results", "x");
  CHECK(fs::exists(results));
}

TEST_CASE("the entries of an open folder are listed, also twice") {
  const temporary_folder folder;
  for (const char* name : {"one", "two"}) std::ofstream(folder.path() / name) << name;
  const auto open = syclamp::open_folder(folder.path(), syclamp::path_trust::links);
  for (int i = 0; i < 2; ++i) {
    std::vector<std::string> names = syclamp::entry_names(open.number());
    std::ranges::sort(names);
    CHECK(names == std::vector<std::string>{".", "..", "one", "two"});
  }
  CHECK(syclamp::entry_names(-1).empty());
}
