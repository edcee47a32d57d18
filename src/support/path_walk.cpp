// SPDX-License-Identifier: Apache-2.0
#include "support/path_walk.hpp"

#include <sys/vfs.h>

#include <array>
#include <climits>
#include <cstdint>
#include <deque>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

namespace fs = std::filesystem;

constexpr int max_links = 40;  // as many as the kernel follows

bool is_in_proc(const descriptor& file) {
  constexpr long proc = 0x9fa0;  // PROC_SUPER_MAGIC
  struct statfs system{};
  return ::fstatfs(file.number(), &system) == 0 && system.f_type == proc;
}

/// Whether a file may belong to root, whom a user namespace hides. The file may as well belong to another hidden user,
/// so callers also check who could have put the file there.
bool may_be_hidden_root(const struct stat& status) {
  uid_t overflow_user = 0;
  if (!(std::ifstream("/proc/sys/kernel/overflowuid") >> overflow_user) || status.st_uid != overflow_user) return false;
  std::ifstream map("/proc/self/uid_map");
  return hides_root(std::string(std::istreambuf_iterator<char>(map), {}), overflow_user);
}

/// Walks down a path. Replaces links by their targets.
class path_walk {
 public:
  path_walk(const fs::path& path, path_trust trust) : trust_(trust) { add(path); }

  bool is_done() const { return left_.empty(); }
  bool is_last() const { return left_.size() == 1; }
  bool means_folder() const { return means_folder_; }
  const std::string& next() const { return left_.front(); }
  const fs::path& place() const { return place_; }
  descriptor take() { return std::move(folder_); }

  /// Goes into the next folder, or replaces the next link. False if there is none; `errno` has the reason.
  bool advance() {
    const std::string name = next();
    constexpr int flags = O_PATH | O_NOFOLLOW;
    // O_PATH triggers an automatic mount only together with O_DIRECTORY, which rejects links.
    descriptor entry = open_at(folder_.number(), name.c_str(), flags | O_DIRECTORY);
    if (!entry.is_open() && (errno == ENOTDIR || errno == ELOOP))
      entry = open_at(folder_.number(), name.c_str(), flags);
    struct stat status{};
    if (!entry.is_open() || ::fstat(entry.number(), &status) != 0) return false;
    if (S_ISLNK(status.st_mode)) return replace_link(entry, status);
    if (!S_ISDIR(status.st_mode)) {
      errno = ENOTDIR;
      return false;
    }
    left_.pop_front();
    folder_ = std::move(entry);
    place_ /= name;
    check(status);
    return true;
  }

  /// Makes the next folder.
  bool make() const { return ::mkdirat(folder_.number(), next().c_str(), S_IRWXU) == 0 || errno == EEXIST; }

  bool next_is_link() const {
    struct stat status{};
    return ::fstatat(folder_.number(), next().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
  }

  bool is_in_proc() const { return syclamp::is_in_proc(folder_); }

 private:
  /// Puts the names of `path` before those that are left.
  void add(const fs::path& path) {
    if (left_.empty() && (!path.has_filename() || path.filename() == ".")) means_folder_ = true;
    auto at = left_.begin();
    for (const fs::path& part : path.relative_path())
      if (!part.empty() && part != ".") at = left_.insert(at, part.string()) + 1;
    if (!path.is_absolute() && folder_.is_open()) return;
    place_ = path.is_absolute() ? "/" : "";
    folder_ = open_at(AT_FDCWD, path.is_absolute() ? "/" : ".", O_PATH | O_DIRECTORY);
    struct stat status{};
    if (!folder_.is_open() || ::fstat(folder_.number(), &status) != 0)
      throw file_error(fmt::format("cannot open {}: {}", path.string(), std::generic_category().message(errno)));
    check(status);
  }

  bool replace_link(const descriptor& link, const struct stat& status) {
    if (++links_ > max_links) {
      errno = ELOOP;
      return false;
    }
    if (!is_ours(status) && !(may_be_hidden_root(status) && is_folder_closed()))
      throw file_error(fmt::format("{} is a symbolic link of user {}; use the path that it points to",
                                   (place_ / next()).string(), status.st_uid));
    std::array<char, PATH_MAX> target;
    const auto length = ::readlinkat(link.number(), "", target.data(), target.size());
    if (length < 0) return false;
    left_.pop_front();
    add(fs::path(std::string(target.data(), static_cast<std::size_t>(length))));
    return true;
  }

  /// Whether nobody but the folder's owner can put a link there.
  bool is_folder_closed() const {
    struct stat status{};
    return ::fstat(folder_.number(), &status) == 0 && !others_may_write(status);
  }

  void check(const struct stat& status) const {
    if (trust_ != path_trust::folders) return;
    if (!is_ours(status) && !may_be_hidden_root(status))
      throw file_error(
          fmt::format("{} belongs to user {}, who is neither you nor root", place_.string(), status.st_uid));
    if (others_may_write(status) && (is_done() || (status.st_mode & S_ISVTX) == 0))
      throw file_error(
          fmt::format("other users may write to {}, whose mode is {:o}", place_.string(), status.st_mode & 07777));
  }

  path_trust trust_;
  descriptor folder_;
  fs::path place_;  // of that folder
  std::deque<std::string> left_;
  bool means_folder_ = false;  // the path ends in a slash or a dot
  int links_ = 0;
};

}  // namespace

bool is_ours(const struct stat& status) { return status.st_uid == 0 || status.st_uid == ::geteuid(); }

bool hides_root(const std::string& map, uid_t overflow_user) {
  std::istringstream lines(map);
  bool is_known = false;
  for (std::uint64_t first = 0, outside = 0, count = 0; lines >> first >> outside >> count; is_known = true)
    for (const std::uint64_t user : {std::uint64_t{0}, std::uint64_t{overflow_user}})
      if (user >= first && user - first < count) return false;
  return is_known;
}

bool others_may_write(const struct stat& status) { return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0; }

descriptor open_folder(const fs::path& folder, path_trust trust, bool makes) {
  path_walk walk(fs::absolute(folder), trust);
  while (!walk.is_done())
    if (!walk.advance() && !(makes && errno == ENOENT && walk.make() && walk.advance())) return descriptor();
  return walk.take();
}

path_end find_end(const fs::path& file) {
  std::string problem = file.empty() ? std::generic_category().message(ENOENT)
                                     : std::generic_category().message(EISDIR) + "; add a file name to the path";
  try {
    path_walk walk(file, path_trust::links);
    while (!walk.is_done()) {
      const bool is_proc = walk.is_in_proc();
      if (walk.is_last() && (is_proc || !walk.next_is_link())) {
        if (walk.means_folder()) break;
        std::string name = walk.next();
        return {walk.take(), std::move(name), is_proc};
      }
      if (walk.advance()) continue;
      const int reason = errno;
      problem = std::generic_category().message(reason);
      if (reason == ENOENT) problem += fmt::format("; create the folder {}", (walk.place() / walk.next()).string());
      break;
    }
  } catch (const error& refused) {
    problem = refused.what();
  }
  throw file_error(fmt::format("cannot write {}: {}", file.string(), problem));
}

}  // namespace SYCLAMP_NAMESPACE
