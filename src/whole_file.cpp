// SPDX-License-Identifier: Apache-2.0
#include "whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "syclamp/error.hpp"

namespace syclamp {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const char* doing, const fs::path& file, std::string_view why) {
  throw error(fmt::format("cannot {} {}: {}", doing, file.string(), why));
}

/// With the reason that the system gives.
[[noreturn]] void fail(const char* doing, const fs::path& file) {
  fail(doing, file, std::generic_category().message(errno));
}

/// Repeats a call that a signal has interrupted.
template <typename Call>
auto uninterrupted(Call call) {
  decltype(call()) result;
  do result = call();
  while (result < 0 && errno == EINTR);
  return result;
}

/// An open file, or -1.
class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() { close(); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

constexpr mode_t anybody = 0666;  // as far as the umask lets

descriptor opened(const fs::path& file, int flags, mode_t mode = anybody) {
  return descriptor(uninterrupted([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); }));
}

/// Whether the file is ours alone. File systems that know no locks have none to take, and none to respect.
bool is_locked(const descriptor& file) {
  return uninterrupted([&] { return ::flock(file.number(), LOCK_EX | LOCK_NB); }) == 0 || errno != EWOULDBLOCK;
}

/// What the names of this machine's temporary files begin and end with. Locks of some file systems hold on one machine
/// only, so nobody touches those of another.
std::string temporary_prefix() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return fmt::format(".syclamp-{}-", host.data());
}
constexpr std::string_view temporary_suffix = ".new";

/// Whether a name still belongs to an open file.
bool is_name_of(const fs::path& name, const struct stat& file) {
  struct stat named{};
  return ::lstat(name.c_str(), &named) == 0 && named.st_dev == file.st_dev && named.st_ino == file.st_ino;
}

/// Removes what processes of this machine that were killed have left. Who writes holds a lock, and where there are no
/// locks nothing is removed. All of this may fail: it is only about room.
void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  const std::string prefix = temporary_prefix();
  for (fs::directory_iterator it(folder, ignored), end; it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(temporary_suffix)) continue;
    const descriptor file = opened(it->path(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
    struct stat found{};
    if (!file.is_open() || ::fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    if (uninterrupted([&] { return ::flock(file.number(), LOCK_EX | LOCK_NB); }) == 0 && is_name_of(it->path(), found))
      ::unlink(it->path().c_str());
  }
}

/// A new file beside another one, which is removed unless it takes the other's place.
class temporary_file {
 public:
  /// \param mode  who may read it, as long as it is not whole
  temporary_file(const fs::path& target, mode_t mode) : target_(target) {
    static std::atomic<unsigned> count = 0;
    do {  // a name that is taken belongs to another process, or to one that has died: try the next one
      name_ = target.parent_path() / fmt::format("{}{}-{:x}-{}{}", temporary_prefix(), ::getpid(),
                                                 std::random_device{}(), count++, temporary_suffix);
      file_ = opened(name_, O_WRONLY | O_CREAT | O_EXCL, mode);
    } while (file_.is_open() ? !is_kept() : errno == EEXIST);
    if (!file_.is_open()) fail("write", target);
  }
  ~temporary_file() {
    if (!has_moved_ && file_.is_open()) ::unlink(name_.c_str());
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  void write(std::string_view content) {
    while (!content.empty()) {
      const auto written = uninterrupted([&] { return ::write(file_.number(), content.data(), content.size()); });
      if (written < 0) fail("write", target_);
      content.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void take_permissions_of(const struct stat& old) {
    if (::fchmod(file_.number(), old.st_mode & 07777) != 0) fail("write", target_);
  }

  /// The content has to be on the disk before the name is. The lock is held until the name is gone.
  void replace_target() {
    if (uninterrupted([&] { return ::fsync(file_.number()); }) != 0) fail("write", target_);
    struct stat own{};
    if (::fstat(file_.number(), &own) != 0 || !is_name_of(name_, own))
      fail("write", target_, "its temporary file was removed by somebody else");
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail("write", target_);
    has_moved_ = true;
  }

 private:
  /// Between its making and its locking, somebody may have taken the file for a leftover.
  bool is_kept() const {
    struct stat made{};
    return is_locked(file_) && ::fstat(file_.number(), &made) == 0 && made.st_nlink != 0;
  }

  fs::path target_, name_;
  descriptor file_{-1};
  bool has_moved_ = false;
};

/// Puts a new name on the disk. Some file systems cannot, and lose nothing but time.
void sync_folder(const fs::path& folder) {
  const descriptor it = opened(folder, O_RDONLY | O_DIRECTORY);
  if (it.is_open()) ::fsync(it.number());
}

fs::path behind_links(const fs::path& file) {
  std::error_code failed;
  fs::path target = fs::absolute(file, failed);
  constexpr int most_links = 40;  // as many as the kernel follows
  for (int i = 0; i < most_links && !failed && fs::is_symlink(fs::symlink_status(target, failed)); ++i)
    target = target.parent_path() / fs::read_symlink(target, failed);  // also one that leads to no file yet
  if (!failed || failed == std::errc::no_such_file_or_directory) target = fs::weakly_canonical(target, failed);
  if (failed) fail("write", file, failed.message());
  return target;
}

}  // namespace

std::string read_whole_file(const fs::path& file, std::size_t longest) {
  const descriptor source = opened(file, O_RDONLY);
  if (!source.is_open()) fail("read", file);
  std::string content;
  std::string part(std::size_t{1} << 16, '\0');
  while (true) {  // to the end, not to the size: it may be a pipe, or growing
    const auto count = uninterrupted([&] { return ::read(source.number(), part.data(), part.size()); });
    if (count < 0) fail("read", file);
    if (count == 0) return content;
    content.append(part, 0, static_cast<std::size_t>(count));
    if (content.size() > longest) fail("read", file, fmt::format("it is longer than {} bytes", longest));
  }
}

struct file_replacement::state {
  explicit state(const fs::path& file) : target(behind_links(file)) {
    exists = ::stat(target.c_str(), &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) fail("write", file, "it is not a file, but a folder, a device or a pipe");
    remove_leftovers(target.parent_path());
    constexpr mode_t owner_writes = 0200;
    fresh.emplace(target, exists ? (old.st_mode & anybody) | owner_writes : anybody);
  }

  fs::path target;
  struct stat old{};
  bool exists = false;
  std::optional<temporary_file> fresh;
};

file_replacement::file_replacement(const fs::path& file) : state_(std::make_unique<state>(file)) {}
file_replacement::~file_replacement() = default;

void file_replacement::write(const void* data, std::size_t bytes) {
  state_->fresh->write({static_cast<const char*>(data), bytes});
}

void file_replacement::commit() {
  if (state_->exists) state_->fresh->take_permissions_of(state_->old);
  state_->fresh->replace_target();
  sync_folder(state_->target.parent_path());
}

void replace_file(const fs::path& file, std::string_view content) {
  file_replacement fresh(file);
  fresh.write(content.data(), content.size());
  fresh.commit();
}

file_reader::file_reader(const fs::path& file)
    : file_(file), descriptor_(uninterrupted([&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })) {
  if (descriptor_ < 0) fail("read", file);
  struct stat found{};
  const bool is_known = ::fstat(descriptor_, &found) == 0;
  if (is_known && S_ISREG(found.st_mode)) {
    size_ = static_cast<std::uint64_t>(found.st_size);
    return;
  }
  const int reason = errno;
  ::close(descriptor_);
  errno = reason;
  if (!is_known) fail("read", file);
  fail("read", file, "it is not a file, but a folder, a device or a pipe");
}

file_reader::~file_reader() { ::close(descriptor_); }

void file_reader::read(std::uint64_t offset, void* data, std::size_t bytes) const {
  auto* to = static_cast<char*>(data);
  while (bytes != 0) {
    const auto count = uninterrupted([&] { return ::pread(descriptor_, to, bytes, static_cast<off_t>(offset)); });
    if (count < 0) fail("read", file_);
    if (count == 0) fail("read", file_, "it is truncated");
    to += count;
    offset += static_cast<std::uint64_t>(count);
    bytes -= static_cast<std::size_t>(count);
  }
}

}  // namespace syclamp
