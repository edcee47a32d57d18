// SPDX-License-Identifier: Apache-2.0
#include "whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
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

descriptor opened(const fs::path& file, int flags) {
  constexpr mode_t anybody = 0666;  // as far as the umask lets
  return descriptor(uninterrupted([&] { return ::open(file.c_str(), flags | O_CLOEXEC, anybody); }));
}

/// A new file beside another one, which is removed unless it takes the other's place.
class temporary_file {
 public:
  explicit temporary_file(const fs::path& target) : target_(target) {
    static std::atomic<unsigned> count = 0;
    do {  // a name that is taken belongs to another process, or to one that has died: try the next one
      name_ = target.parent_path() / fmt::format(".syclamp-{}-{}.new", ::getpid(), count++);
      file_ = opened(name_, O_WRONLY | O_CREAT | O_EXCL);
    } while (!file_.is_open() && errno == EEXIST);
    if (!file_.is_open()) fail("write", target);
  }
  ~temporary_file() {
    if (!has_moved_) ::unlink(name_.c_str());
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

  /// The content has to be on the disk before the name is.
  void replace_target() {
    if (uninterrupted([&] { return ::fsync(file_.number()); }) != 0) fail("write", target_);
    if (!file_.close()) fail("write", target_);
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail("write", target_);
    has_moved_ = true;
  }

 private:
  const fs::path& target_;
  fs::path name_;
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
  if (!failed) target = fs::weakly_canonical(target, failed);
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

void replace_file(const fs::path& file, std::string_view content) {
  const fs::path target = behind_links(file);
  struct stat old{};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) fail("write", file, "it is not a file, but a folder, a device or a pipe");
  temporary_file fresh(target);
  fresh.write(content);
  if (exists) fresh.take_permissions_of(old);
  fresh.replace_target();
  sync_folder(target.parent_path());
}

}  // namespace syclamp
