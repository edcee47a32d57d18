// SPDX-License-Identifier: Apache-2.0
// Snapshots on disk: what is there after a save that succeeds, fails or meets another.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "state/snapshot_binary.hpp"
#include "syclamp/error.hpp"
#include "syclamp/scaler_snapshot.hpp"
#include "tests/support/snapshots.hpp"
#include "tests/support/state_equality.hpp"
#include "tests/support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;
using syclamp::scaler_snapshot;
namespace fs = std::filesystem;

namespace {

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_to(const fs::path& file, const std::string& content) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
}

std::ptrdiff_t files_in(const fs::path& folder) { return std::distance(fs::directory_iterator(folder), {}); }

}  // namespace

TEST_CASE("a state that could not be loaded is not saved, either") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  scaler_snapshot snapshot = small_snapshot();
  snapshot.scales[0].scale = 3.0f;
  CHECK_THROWS_WITH(save_snapshot(snapshot, file), ContainsSubstring("scales[0].scale is 3"));
  CHECK_THROWS_WITH(syclamp::to_binary(snapshot), ContainsSubstring("scales[0].scale is 3"));
  snapshot = small_snapshot();
  snapshot.ledger.resize((1 << 20) + 1);
  CHECK_THROWS_WITH(save_snapshot(snapshot, file), ContainsSubstring("ledger has 1048577"));
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("saving replaces the file behind a link, keeps its permissions and leaves nothing else") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state", link = folder.path() / "link";
  write_to(file, "old");
  chmod(file.c_str(), 0640);
  fs::create_symlink("state", link);

  save_snapshot(small_snapshot(), link);
  CHECK(same(syclamp::load_snapshot(file), small_snapshot()));
  CHECK(fs::is_symlink(link));
  CHECK(fs::status(file).permissions() == fs::perms(0640));
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("a relative name is a name in the current folder") {
  const temporary_folder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  save_snapshot(small_snapshot(), "state");
  fs::current_path(before);
  CHECK(same(syclamp::load_snapshot(folder.path() / "state"), small_snapshot()));
}

TEST_CASE("if a file cannot be saved, the old one is there as it was, and nothing else") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  save_snapshot(small_snapshot(), file);
  const std::string old = content_of(file);
  scaler_snapshot large = small_snapshot();
  large.ledger.resize(1000, large.ledger.front());

  // A full disk, as far as a process can make one for itself.
  for (const rlim_t size : {rlim_t{0}, rlim_t{100}, rlim_t{100'000}}) {
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{size, size};
      setrlimit(RLIMIT_FSIZE, &limit);
      try {
        save_snapshot(large, file);
      } catch (const syclamp::error& problem) {
        const std::string text = problem.what();
        _exit(text.find(file.string()) != text.npos && text.find("File too large") != text.npos ? 7 : 1);
      }
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WEXITSTATUS(status) == 7);
    CHECK(content_of(file) == old);
    CHECK(files_in(folder.path()) == 1);
  }
}

TEST_CASE("places that cannot be saved to are named, with the reason") {
  const temporary_folder folder;
  fs::create_directory(folder.path() / "sub");
  CHECK_THROWS_WITH(save_snapshot(small_snapshot(), folder.path() / "absent" / "state"),
                    ContainsSubstring("absent/state: No such file"));
  CHECK_THROWS_WITH(save_snapshot(small_snapshot(), folder.path() / "sub"),
                    ContainsSubstring("sub: it is not a regular file"));
  // Stands for all devices: a real one would be gone if this failed in the hands of root.
  REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(save_snapshot(small_snapshot(), folder.path() / "pipe"),
                    ContainsSubstring("pipe: it is not a regular file"));
  CHECK(fs::is_fifo(folder.path() / "pipe"));
  CHECK_THROWS_AS(save_snapshot(small_snapshot(), ""), syclamp::error);
  CHECK_THROWS_AS(save_snapshot(small_snapshot(), folder.path() / std::string(300, 'x')), syclamp::error);
  CHECK(fs::is_empty(folder.path() / "sub"));
  CHECK(files_in(folder.path()) == 2);
  if (geteuid() == 0) return;  // may write anywhere
  const fs::path closed = folder.path() / "sub" / "state";
  save_snapshot(small_snapshot(), closed);
  chmod(closed.parent_path().c_str(), 0500);
  CHECK_THROWS_WITH(save_snapshot(odd_snapshot(), closed), ContainsSubstring("Permission denied"));
  chmod(closed.parent_path().c_str(), 0700);
  CHECK(same(syclamp::load_snapshot(closed), small_snapshot()));
}

TEST_CASE("two processes that save to the same file leave one of theirs, whole") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  save_snapshot(small_snapshot(), file);
  const auto work = [&] {
    for (int i = 0; i < 10; ++i) {
      save_snapshot(odd_snapshot(), file);
      if (!same(syclamp::load_snapshot(file), odd_snapshot())) return 1;
    }
    return 0;
  };
  save_snapshot(odd_snapshot(), file);
  const pid_t child = fork();
  if (child == 0) _exit(work());
  CHECK(work() == 0);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(files_in(folder.path()) == 1);
}
