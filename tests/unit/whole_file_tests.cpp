// SPDX-License-Identifier: Apache-2.0
#include "support/whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "support/checksum.hpp"
#include "syclamp/error.hpp"
#include "tests/support/kill_points.hpp"
#include "tests/support/temporary_folder.hpp"

using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

namespace {

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::ptrdiff_t files_in(const fs::path& folder) { return std::distance(fs::directory_iterator(folder), {}); }

std::uint64_t sum_of(const std::string& bytes) {
  syclamp::block_checksum sum;
  sum.add(bytes.data(), bytes.size());
  return sum.value();
}

std::string random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(count, '\0');
  for (char& character : bytes) character = static_cast<char>(random());
  return bytes;
}

/// In blocks of all sizes.
void replace(const fs::path& file, const std::string& content) {
  syclamp::file_replacement fresh(file);
  for (std::size_t at = 0, part = 1; at < content.size(); at += part, part = part * 3 + 1)
    fresh.write(content.data() + at, std::min(part, content.size() - at));
  fresh.commit();
}

/// Runs `action` in a process of its own. \return how that ended, as waitpid says
template <typename Action>
int status_of_child(Action action) {
  const pid_t child = fork();
  if (child == 0) {
    action();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("the checksum of blocks does not depend on how they are cut") {
  const std::string bytes = random_bytes(1000, 1);
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    syclamp::block_checksum sum;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t part = std::min<std::size_t>(random() % 100, bytes.size() - at);
      sum.add(bytes.data() + at, part);
      at += part;
    }
    REQUIRE(sum.value() == sum_of(bytes));
  }
}

TEST_CASE("the checksum of blocks sees every changed byte, every cut and every swap") {
  for (const std::size_t size : {1, 7, 8, 31, 32, 33, 100}) {
    const std::string bytes = random_bytes(size, 3), zeros(size, '\0');
    for (const std::string& good : {bytes, zeros}) {
      std::set<std::uint64_t> sums{sum_of(good)};
      std::size_t different = 1;
      for (std::size_t i = 0; i < size; ++i)
        for (int flip = 1; flip < 256; ++flip, ++different) {
          std::string bad = good;
          bad[i] = static_cast<char>(bad[i] ^ flip);
          sums.insert(sum_of(bad));
        }
      for (std::size_t i = 0; i < size; ++i, ++different) sums.insert(sum_of(good.substr(0, i)));
      sums.insert(sum_of(good + '\0'));
      CHECK(sums.size() == different + 1);
    }
    for (std::size_t i = 0; i + 16 <= size; ++i) {
      std::string swapped = bytes;
      std::swap_ranges(&swapped[i], &swapped[i] + 8, &swapped[i] + 8);
      CHECK(sum_of(swapped) != sum_of(bytes));
    }
  }
  // Two changes in the highest bits of the same lane, which a product alone would carry to one another.
  std::string twice(64, '\0');
  twice[7] = twice[39] = '\x80';
  CHECK(sum_of(twice) != sum_of(std::string(64, '\0')));
}

TEST_CASE("a file that is replaced in blocks is what was written, whatever happens before") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  const std::string bytes = random_bytes(100'000, 4);
  replace(file, bytes);
  CHECK(content_of(file) == bytes);
  chmod(file.c_str(), 0640);
  {
    syclamp::file_replacement abandoned(file);
    abandoned.write("new", 3);
  }
  CHECK(content_of(file) == bytes);
  replace(file, "new");
  CHECK(content_of(file) == "new");
  CHECK(fs::status(file).permissions() == fs::perms(0640));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a new file keeps the permissions of the user's old file, but no special bits") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  std::ofstream(file) << "old";
  REQUIRE(chmod(file.c_str(), 06664) == 0);
  syclamp::replace_file(file, "new");
  CHECK(fs::status(file).permissions() == fs::perms(0664));
}

TEST_CASE("another user's old file gives the new one no permissions") {
  if (geteuid() != 0) SKIP("only root can make files of another user");
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  const auto mode_after = [&](mode_t before) {
    std::ofstream(file) << "old";
    REQUIRE(chown(file.c_str(), 12'345, 12'345) == 0);
    REQUIRE(chmod(file.c_str(), before) == 0);
    const mode_t mask = umask(022);
    syclamp::replace_file(file, "new");
    umask(mask);
    const fs::perms after = fs::status(file).permissions();
    fs::remove(file);
    return after;
  };
  CHECK(mode_after(06777) == fs::perms(0644));
  CHECK(mode_after(0640) == fs::perms(0640));
  CHECK(mode_after(0) == fs::perms(0600));
}

TEST_CASE("a process that is killed at any call leaves the old or the new file, and its rest goes with the next one") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  const std::string older = random_bytes(1000, 5), newer = random_bytes(1001, 6);
  bool was_old = false, was_new = false, had_rest = false;
  for (const bool afterwards : {false, true}) {
    unsigned call = 1;
    for (bool is_killed = true; is_killed; ++call) {
      CAPTURE(call, afterwards);
      replace(file, older);
      REQUIRE(files_in(folder.path()) == 1);
      const int status = status_of_child([&] {
        kill_at(call, afterwards);
        replace(file, newer);
      });
      is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      const std::string found = content_of(file);
      REQUIRE((found == older || found == newer));
      REQUIRE((is_killed || found == newer));
      was_old = was_old || found == older;
      was_new = was_new || (is_killed && found == newer);
      had_rest = had_rest || files_in(folder.path()) == 2;
    }
    CHECK(call > 10);  // open, lock, several writes, mode, sync, rename, sync: if not, the calls are not seen
  }
  CHECK(was_old);
  CHECK(was_new);
  CHECK(had_rest);
}

TEST_CASE("leftovers of killed processes do not pile up, and files being written are not touched") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  syclamp::file_replacement at_work(folder.path() / "other");
  at_work.write("content", 7);
  for (unsigned i = 0; i < 20; ++i) {
    const int status = status_of_child([&] {
      kill_at(5);
      replace(file, random_bytes(1000, i));
    });
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(files_in(folder.path()) <= 2);
  }
  // What only looks like one is not touched: links, folders, pipes, other names, those of another machine.
  std::array<char, 256> host{};
  REQUIRE(gethostname(host.data(), host.size() - 1) == 0);
  const auto rest_like = [&](const std::string& name) {
    return folder.path() / (".syclamp-" + std::string(host.data()) + "-1-" + name + ".new");
  };
  std::ofstream(folder.path() / ".syclamp-elsewhere?-1-0.new") << "of another machine";
  const fs::path precious = folder.path() / "precious";
  std::ofstream(precious) << "precious";
  fs::create_symlink("precious", rest_like("link"));
  fs::create_directory(rest_like("folder"));
  REQUIRE(mkfifo(rest_like("pipe").c_str(), 0600) == 0);
  replace(file, "new");
  CHECK(files_in(folder.path()) == 7);
  CHECK(content_of(precious) == "precious");
  at_work.commit();
  CHECK(content_of(folder.path() / "other") == "content");
}

TEST_CASE("a reader sees the file that it opened, to its end and no further") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "state";
  syclamp::replace_file(file, "0123456789");
  const syclamp::file_reader reader(file);
  syclamp::replace_file(file, "other");
  CHECK(reader.size() == 10);
  std::string part(4, '\0');
  reader.read(6, part.data(), part.size());
  CHECK(part == "6789");
  CHECK_THROWS_WITH(reader.read(7, part.data(), part.size()), ContainsSubstring("state: it is truncated"));
  CHECK_THROWS_WITH(syclamp::file_reader(folder.path() / "absent"), ContainsSubstring("absent: No such file"));
  CHECK_THROWS_WITH(syclamp::file_reader(folder.path()), ContainsSubstring("it is not a regular file"));
}

TEST_CASE("links of the user are followed, also to a file that is yet to be made") {
  const temporary_folder folder;
  fs::create_directories(folder.path() / "deep");
  fs::create_symlink("deep", folder.path() / "link");
  fs::create_symlink("link/target", folder.path() / "first");
  fs::create_symlink(folder.path() / "first", folder.path() / "second");
  syclamp::write_output(folder.path() / "second", "made");
  CHECK(content_of(folder.path() / "deep" / "target") == "made");
  CHECK(fs::is_symlink(folder.path() / "second"));
  fs::create_symlink("round", folder.path() / "about");
  fs::create_symlink("about", folder.path() / "round");
  CHECK_THROWS_WITH(syclamp::write_output(folder.path() / "round", ""), ContainsSubstring("round: Too many levels"));
  CHECK_THROWS_WITH(syclamp::write_output(folder.path() / "no" / "file", ""),
                    ContainsSubstring("No such file or directory; create the folder") && ContainsSubstring("/no"));
}

TEST_CASE("links of another user are refused, wherever in a path they are") {
  if (geteuid() != 0) SKIP("only root can make them");
  constexpr uid_t somebody = 12'345;
  const temporary_folder folder;
  fs::create_directory(folder.path() / "mine");
  const fs::path precious = folder.path() / "mine" / "precious";
  std::ofstream(precious) << "precious";
  const fs::path file_link = folder.path() / "results", folder_link = folder.path() / "out";
  fs::create_symlink(precious, file_link);
  fs::create_symlink("mine", folder_link);
  for (const fs::path& link : {file_link, folder_link}) REQUIRE(lchown(link.c_str(), somebody, somebody) == 0);
  for (const fs::path& file : {file_link, folder_link / "precious"}) {
    CAPTURE(file);
    for (const auto& write : {syclamp::write_output, syclamp::replace_file})
      CHECK_THROWS_WITH(write(file, "new"), ContainsSubstring("is a symbolic link of user 12345"));
    CHECK_THROWS_WITH(syclamp::need_writable(file), ContainsSubstring("is a symbolic link of user 12345"));
    CHECK_THROWS_AS(syclamp::file_replacement(file), syclamp::error);
  }
  CHECK(content_of(precious) == "precious");
  CHECK(files_in(folder.path()) == 3);
}

TEST_CASE("a file that looks like the temporary one of another program is not touched") {
  const temporary_folder folder;
  const fs::path precious = folder.path() / "precious";
  std::ofstream(precious) << "precious";
  fs::create_symlink(precious, folder.path() / "results.json.new");
  syclamp::write_output(folder.path() / "results.json", "new");
  CHECK(content_of(folder.path() / "results.json") == "new");
  CHECK(content_of(precious) == "precious");
}

TEST_CASE("pipes, devices and open files are written to as they are; folders are refused") {
  const temporary_folder folder;
  const fs::path pipe = folder.path() / "pipe", link = folder.path() / "link", file = folder.path() / "file";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  fs::create_symlink("pipe", link);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  syclamp::need_writable(pipe);
  syclamp::write_output(pipe, "one ");
  syclamp::write_output(link, "two");
  std::array<char, 64> read_back{};
  CHECK(read(reader, read_back.data(), read_back.size()) == 7);
  CHECK(std::string(read_back.data()) == "one two");
  close(reader);
  CHECK(fs::is_fifo(pipe));
  const int leader = posix_openpt(O_RDWR | O_NOCTTY);  // no name of a device that a defect could take away
  REQUIRE((leader >= 0 && grantpt(leader) == 0 && unlockpt(leader) == 0));
  const fs::path terminal = ptsname(leader);
  const int follower = open(terminal.c_str(), O_RDWR | O_NOCTTY);
  syclamp::need_writable(terminal);
  syclamp::write_output(terminal, "shown");
  CHECK(read(leader, read_back.data(), read_back.size()) == 5);
  CHECK(std::string(read_back.data(), 5) == "shown");
  close(follower);
  close(leader);
  CHECK_THROWS_WITH(syclamp::write_output("/proc/self/fd/99999", "x"), ContainsSubstring("cannot write /proc/self/fd"));

  const int open_file = open(file.c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(write(open_file, "before ", 7) == 7);
  const fs::path number = "/proc/self/fd/" + std::to_string(open_file);
  syclamp::need_writable(number);
  syclamp::write_output(number, "after");
  close(open_file);
  CHECK(content_of(file) == "before after");

  CHECK_THROWS_WITH(syclamp::replace_file(pipe, "x"), ContainsSubstring("it is not a regular file"));
  CHECK_THROWS_AS(syclamp::write_output(folder.path(), "x"), syclamp::error);
  CHECK_THROWS_WITH(syclamp::need_writable(folder.path()), ContainsSubstring("Is a directory"));
  CHECK_THROWS_AS(syclamp::need_writable(""), syclamp::error);
  CHECK_THROWS_AS(syclamp::need_writable("/"), syclamp::error);
}

TEST_CASE("whether a file can be written is tried, and leaves nothing behind") {
  // Root is allowed to write to these folders, but no file can be made in them.
  for (const char* file : {"/proc/results.json", "/proc/self/results.json", "/sys/results.json"})
    CHECK_THROWS_WITH(syclamp::need_writable(file), ContainsSubstring(std::string("cannot write ") + file));
  const temporary_folder folder;
  const fs::path fresh = folder.path() / "fresh", old = folder.path() / "old";
  std::ofstream(old) << "old";

  syclamp::need_writable(fresh);
  syclamp::need_writable(old);

  CHECK(files_in(folder.path()) == 1);
  CHECK(content_of(old) == "old");
}

TEST_CASE("an open socket of this process is written to, a socket in a folder is refused") {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  const fs::path number = "/proc/self/fd/" + std::to_string(ends[0]);
  syclamp::need_writable(number);
  syclamp::write_output(number, "sent");
  std::array<char, 64> received{};
  CHECK(recv(ends[1], received.data(), received.size(), MSG_DONTWAIT) == 4);
  CHECK(std::string(received.data()) == "sent");
  CHECK_THROWS_WITH(syclamp::replace_file(number, "x"), ContainsSubstring("it is not a regular file"));
  for (const int end : ends) close(end);

  const temporary_folder folder;
  const fs::path named = folder.path() / "socket";
  REQUIRE(mknod(named.c_str(), S_IFSOCK | 0600, 0) == 0);
  CHECK_THROWS_WITH(syclamp::need_writable(named), ContainsSubstring("it is not a regular file"));
  CHECK_THROWS_WITH(syclamp::write_output(named, "x"), ContainsSubstring("it is not a regular file"));
}

TEST_CASE("a file that is too long is refused before it costs memory") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "sparse";
  std::ofstream(file).close();
  fs::resize_file(file, std::uintmax_t{5} << 30);
  const int status = status_of_child([&] {
    struct rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    try {
      syclamp::read_whole_file(file, std::size_t{1} << 30);
    } catch (const syclamp::error& refused) {
      getrusage(RUSAGE_SELF, &after);
      const bool is_named = std::string(refused.what()).find("longer than 1073741824 bytes") != std::string::npos;
      constexpr long max_kib = 16 << 10;
      _exit(is_named && after.ru_maxrss - before.ru_maxrss < max_kib ? 0 : 2);
    }
    _exit(1);
  });
  CHECK(status == 0);
}
