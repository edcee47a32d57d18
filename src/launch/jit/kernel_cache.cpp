// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/kernel_cache.hpp"

#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>

#include <fmt/format.h>

#include "engine/warn.hpp"
#include "support/checksum.hpp"
#include "support/folder_entries.hpp"
#include "support/path_walk.hpp"
#include "support/temporary_file.hpp"
#include "syclamp/error.hpp"

namespace syclamp::launch::jit {
namespace {

namespace fs = std::filesystem;

// A file is: magic, length of the key, length of the content, checksum of the content, key, content.
constexpr std::array<char, 8> magic = {'s', 'y', 'c', 'l', 'a', 'm', 'p', '1'};
constexpr std::string_view suffix = ".kernels";
constexpr std::uint64_t largest_file = std::uint64_t{1} << 30;  // hundreds of times the size of a real file

struct header {
  std::array<char, 8> magic;
  std::uint64_t key_size;
  std::uint64_t content_size;
  std::uint64_t checksum;  // against accidents; against malice there is `open_folder`
};

std::string_view text_of(const std::vector<char>& bytes) { return {bytes.data(), bytes.size()}; }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Warns once per process about a problem that concerns all kernels.
void warn_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string>& said = *new std::set<std::string>;  // never destroyed: exit handlers may compile, too
  const std::lock_guard lock(mutex);
  if (said.insert(text).second) warn("{}", text);
}

void warn_not_used(const fs::path& folder, std::string_view why) {
  warn_once(fmt::format(
      "the kernel cache {} is not used, so every process compiles its kernels again: {}; set SYCLAMP_CACHE_DIR to a "
      "folder that only you can write to, or set SYCLAMP_CACHE=off to silence this warning",
      folder.string(), why));
}

/// The folder, if it is there and can be trusted.
descriptor open_cache(const fs::path& folder, bool makes) {
  try {
    descriptor open = open_folder(folder, path_trust::folders, makes);
    if (!open.is_open() && (makes || (errno != ENOENT && errno != ENOTDIR)))
      warn_not_used(folder, fmt::format("the folder cannot be {}: {}", makes ? "created" : "opened",
                                        std::generic_category().message(errno)));
    return open;
  } catch (const error& untrusted) {
    warn_not_used(folder, untrusted.what());
    return descriptor();
  }
}

bool read_all(int file, void* data, std::size_t bytes) {
  auto* to = static_cast<char*>(data);
  while (bytes != 0) {
    const auto count = uninterrupted([&] { return ::read(file, to, bytes); });
    if (count <= 0) return false;
    to += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

/// The home that the system has for the user; empty if there is none.
fs::path home_of_user() {
  std::vector<char> buffer(std::size_t{1} << 14);
  struct passwd entry{};
  struct passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return {};
  std::error_code failed;
  const fs::path home = entry.pw_dir;
  return home.is_absolute() && fs::is_directory(home, failed) ? home : fs::path();
}

std::uint64_t size_of_environment() {
  const std::string text = environment("SYCLAMP_CACHE_SIZE");
  if (text.empty()) return kernel_cache::default_size;
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20, most = std::uint64_t{1} << 40;
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem == std::errc{} && stop == end && value <= most) return value * mebibyte;
  warn_once(fmt::format("SYCLAMP_CACHE_SIZE is {:?}; it must be a whole number of MiB, or 0 for no limit; using {}",
                        text, kernel_cache::default_size / mebibyte));
  return kernel_cache::default_size;
}

bool may_write(const fs::path& folder) {
  const descriptor open = [&] {
    try {
      return open_folder(folder, path_trust::folders);
    } catch (const error&) {  // reported when the cache is used
      return descriptor();
    }
  }();
  return !open.is_open() || ::faccessat(open.number(), ".", W_OK | X_OK, AT_EACCESS) == 0;
}

/// A file of the cache, and when it was last used: `load` sets the time of access.
struct kept_file {
  std::string name;
  std::uint64_t bytes;
  timespec last_use;
};

std::vector<kept_file> files_in(int folder) {
  std::vector<kept_file> files;
  for (const std::string& name : entry_names(folder)) {
    struct stat status{};
    if (!name.ends_with(suffix) || ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    const auto later = [](const timespec& a, const timespec& b) {
      return std::tie(a.tv_sec, a.tv_nsec) < std::tie(b.tv_sec, b.tv_nsec) ? b : a;
    };
    files.push_back({name, static_cast<std::uint64_t>(status.st_size), later(status.st_atim, status.st_mtim)});
  }
  return files;
}

/// Removes the least recently used files until the rest fits. The newest file stays, whatever its size.
void forget_oldest(int folder, const std::string& newest, std::uint64_t size) {
  std::vector<kept_file> files = files_in(folder);
  std::uint64_t sum = 0;
  for (const kept_file& file : files) sum += file.bytes;
  std::ranges::sort(files, {},
                    [](const kept_file& file) { return std::pair(file.last_use.tv_sec, file.last_use.tv_nsec); });
  for (const kept_file& file : files) {
    if (sum <= size) return;
    if (file.name != newest && ::unlinkat(folder, file.name.c_str(), 0) == 0) sum -= file.bytes;
  }
}

}  // namespace

fs::path kernel_cache::user_folder() {
  // The base directory specification: a relative XDG_CACHE_HOME is to be ignored.
  if (const fs::path base = environment("XDG_CACHE_HOME"); base.is_absolute()) return base / "syclamp";
  if (const fs::path home = environment("HOME"); home.is_absolute()) return home / ".cache" / "syclamp";
  if (const fs::path home = home_of_user(); !home.empty()) return home / ".cache" / "syclamp";
  return {};
}

fs::path kernel_cache::default_folder() {
  if (environment("SYCLAMP_CACHE") == "off") return {};
  if (auto named = environment("SYCLAMP_CACHE_DIR"); !named.empty()) return named;
  return user_folder();
}

std::vector<kernel_cache> kernel_cache::from_environment() {
  const fs::path first = default_folder();
  const std::uint64_t size = size_of_environment();
  if (first.empty() && environment("SYCLAMP_CACHE") != "off")
    warn_once(
        "there is no folder for compiled kernels, because the user has no home directory, so every process compiles "
        "its kernels again; set SYCLAMP_CACHE_DIR to a folder of your own, or SYCLAMP_CACHE=off to silence this "
        "warning");
  std::vector<kernel_cache> caches{kernel_cache(first, size)};
  if (!first.empty() && !may_write(first))
    if (const fs::path own = user_folder(); !own.empty() && own != first) caches.emplace_back(own, size);
  return caches;
}

fs::path kernel_cache::file_of(const std::string& key) const {
  return folder_ / fmt::format("{:016x}{}", checksum(key), suffix);
}

std::optional<std::vector<char>> kernel_cache::load(const std::string& key) const {
  if (folder_.empty()) return {};
  const descriptor folder = open_cache(folder_, false);
  if (!folder.is_open()) return {};
  const fs::path path = file_of(key);
  const auto refuse = [&](std::string_view why) -> std::optional<std::vector<char>> {
    warn("ignoring the kernel cache file {}: {}; a new one will replace it", path.string(), why);
    return {};
  };
  // O_NONBLOCK: opening a pipe that somebody has put there must not block.
  const descriptor file = open_at(folder.number(), path.filename().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.is_open()) {
    if (errno == ENOENT) return {};
    return refuse(errno == ELOOP ? "it is a link" : std::generic_category().message(errno));
  }
  struct stat status{};
  if (::fstat(file.number(), &status) != 0) return refuse(std::generic_category().message(errno));
  if (!S_ISREG(status.st_mode)) return refuse("it is not a regular file");
  if (!is_ours(status)) return refuse(fmt::format("it belongs to user {}", status.st_uid));
  if (others_may_write(status)) return refuse("others may write to it");
  const auto size = static_cast<std::uint64_t>(status.st_size);

  header head{};
  if (size < sizeof head || !read_all(file.number(), &head, sizeof head)) return refuse("it is truncated");
  if (head.magic != magic) return refuse("it was not written by this version of syclamp");
  if (size > largest_file || head.key_size > size || head.content_size > size ||
      sizeof head + head.key_size + head.content_size != size)
    return refuse("it is truncated or damaged");
  std::string stored_key(head.key_size, '\0');
  std::vector<char> content(head.content_size);
  if (!read_all(file.number(), stored_key.data(), stored_key.size()) ||
      !read_all(file.number(), content.data(), content.size()))
    return refuse("it cannot be read");
  if (stored_key != key) return refuse("it belongs to other kernels");
  if (checksum(text_of(content)) != head.checksum) return refuse("its checksum is wrong");
  const std::array<timespec, 2> used_now{timespec{0, UTIME_NOW}, timespec{0, UTIME_OMIT}};
  std::ignore = ::futimens(file.number(), used_now.data());  // files of root stay as they are
  return content;
}

void kernel_cache::store(const std::string& key, const std::vector<char>& content) const {
  if (folder_.empty()) return;
  const descriptor folder = open_cache(folder_, true);
  if (!folder.is_open()) return;
  try {
    const fs::path path = file_of(key);
    const std::string name = path.filename().string();
    remove_leftovers(folder.number());
    constexpr mode_t owner_writes_all_read = 0644;  // umask applies as well: a cache may be shared by several users
    temporary_file file(folder.number(), path, owner_writes_all_read);
    const header head{magic, key.size(), content.size(), checksum(text_of(content))};
    file.write({reinterpret_cast<const char*>(&head), sizeof head});
    file.write(key);
    file.write(text_of(content));
    file.rename_to(name);
    if (size_ != 0) forget_oldest(folder.number(), name, size_);
  } catch (const error& failed) {
    warn_not_used(folder_, failed.what());
  }
}

}  // namespace syclamp::launch::jit
