// SPDX-License-Identifier: Apache-2.0
#include "support/temporary_file.hpp"

#include <sys/file.h>

#include <array>
#include <atomic>
#include <random>
#include <system_error>

#include <fmt/format.h>

#include "support/folder_entries.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

/// What the names of this machine's temporary files begin and end with. Locks of some file systems hold on one machine
/// only, so nobody touches those of another.
std::string temporary_prefix() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format(".syclamp-{}-", host.data());
}
constexpr std::string_view temporary_suffix = ".new";

bool take_lock(const descriptor& file) {
  return uninterrupted([&] { return ::flock(file.number(), LOCK_EX | LOCK_NB); }) == 0;
}

/// Whether a name still belongs to an open file.
bool is_name_of(int folder, const std::string& name, const struct stat& file) {
  struct stat named{};
  return ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && named.st_dev == file.st_dev &&
         named.st_ino == file.st_ino;
}

}  // namespace

void fail(const char* verb, const std::filesystem::path& file, std::string_view reason) {
  throw file_error(fmt::format("cannot {} {}: {}", verb, file.string(), reason));
}

void fail(const char* verb, const std::filesystem::path& file) {
  fail(verb, file, std::generic_category().message(errno));
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const auto written = uninterrupted([&] { return ::write(file, content.data(), content.size()); });
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void remove_leftovers(int folder) {
  const std::string prefix = temporary_prefix();
  for (const std::string& name : entry_names(folder)) {
    if (!name.starts_with(prefix) || !name.ends_with(temporary_suffix)) continue;
    const descriptor file = open_at(folder, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
    struct stat found{};
    if (!file.is_open() || ::fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    if (take_lock(file) && is_name_of(folder, name, found)) ::unlinkat(folder, name.c_str(), 0);
  }
}

temporary_file::temporary_file(int folder, std::filesystem::path target, mode_t mode)
    : folder_(folder), target_(std::move(target)) {
  static std::atomic<unsigned> count = 0;
  do {  // a name that is taken belongs to another process, or to one that has died: try the next one
    name_ = fmt::format("{}{}-{:x}-{}{}", temporary_prefix(), ::getpid(), std::random_device{}(), count++,
                        temporary_suffix);
    file_ = open_at(folder_, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  } while (file_.is_open() ? !is_kept() : errno == EEXIST);
  if (!file_.is_open()) fail("write", target_);
}

temporary_file::~temporary_file() {
  if (!has_moved_ && file_.is_open()) ::unlinkat(folder_, name_.c_str(), 0);
}

/// Between creation and locking, another process may have removed the file as a leftover. On file systems without locks
/// nothing is removed.
bool temporary_file::is_kept() const {
  struct stat made{};
  return (take_lock(file_) || errno != EWOULDBLOCK) && ::fstat(file_.number(), &made) == 0 && made.st_nlink != 0;
}

void temporary_file::write(std::string_view content) {
  if (!write_all(file_.number(), content)) fail("write", target_);
}

void temporary_file::set_mode(mode_t mode) {
  if (::fchmod(file_.number(), mode) != 0) fail("write", target_);
}

void temporary_file::sync() {
  if (uninterrupted([&] { return ::fsync(file_.number()); }) != 0) fail("write", target_);
}

void temporary_file::rename_to(const std::string& name) {
  struct stat own{};
  if (::fstat(file_.number(), &own) != 0 || !is_name_of(folder_, name_, own))
    fail("write", target_, "another process has removed its temporary file");
  if (::renameat(folder_, name_.c_str(), folder_, name.c_str()) != 0) fail("write", target_);
  has_moved_ = true;
}

}  // namespace SYCLAMP_NAMESPACE
