// SPDX-License-Identifier: Apache-2.0
#include "support/whole_file.hpp"

#include <sys/stat.h>

#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "support/descriptor.hpp"
#include "support/path_walk.hpp"
#include "support/temporary_file.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

namespace fs = std::filesystem;

constexpr const char* no_file = "it is not a regular file, but a folder, a device, a socket or a pipe";

/// Writes a new name to the disk. Some file systems cannot; that only delays the write.
void sync_folder(int folder) {
  const descriptor it = open_at(folder, ".", O_RDONLY | O_DIRECTORY);
  if (it.is_open()) ::fsync(it.number());
}

/// The status of the file at the end of a path. \return false if there is none
bool find_status(const path_end& end, struct stat& status) {
  const int links = end.is_proc ? 0 : AT_SYMLINK_NOFOLLOW;  // those of /proc lead to open files, not to names
  return ::fstatat(end.folder.number(), end.name.c_str(), &status, links) == 0;
}

/// A second descriptor of a file that this process has open, if the path refers to one. Opening the file again would
/// start at the first byte.
std::optional<descriptor> own_descriptor(const path_end& end) {
  int number = -1;
  const char* const last = end.name.data() + end.name.size();
  if (!end.is_proc || std::from_chars(end.name.data(), last, number).ptr != last) return {};
  const descriptor own = open_at(AT_FDCWD, "/proc/self/fd", O_PATH | O_DIRECTORY);
  struct stat ours{}, found{};
  if (!own.is_open() || ::fstat(own.number(), &ours) != 0 || ::fstat(end.folder.number(), &found) != 0 ||
      ours.st_dev != found.st_dev || ours.st_ino != found.st_ino)
    return {};
  return descriptor(::fcntl(number, F_DUPFD_CLOEXEC, 0));
}

/// True if the target is written to in place, like a pipe. Other targets are replaced or rejected.
bool is_stream(const path_end& end, const struct stat& status) {
  if (S_ISSOCK(status.st_mode)) return own_descriptor(end).has_value();  // a socket cannot be opened by a name
  return S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode) || (end.is_proc && S_ISREG(status.st_mode));
}

}  // namespace

std::string read_whole_file(const fs::path& file, std::size_t longest) {
  const descriptor source = open_at(AT_FDCWD, file.c_str(), O_RDONLY);
  struct stat status{};
  if (!source.is_open() || ::fstat(source.number(), &status) != 0) fail("read", file);
  const auto refuse_length = [&] { fail("read", file, fmt::format("it is longer than {} bytes", longest)); };
  std::string content;
  if (S_ISREG(status.st_mode)) {  // refused before it costs anything
    if (std::cmp_greater(status.st_size, longest)) refuse_length();
    content.reserve(static_cast<std::size_t>(status.st_size));
  }
  std::string part(std::size_t{1} << 16, '\0');
  while (true) {  // to the end, not to the size: it may be a pipe, or growing
    const auto count = uninterrupted([&] { return ::read(source.number(), part.data(), part.size()); });
    if (count < 0) fail("read", file);
    if (count == 0) return content;
    content.append(part, 0, static_cast<std::size_t>(count));
    if (content.size() > longest) refuse_length();
  }
}

struct file_replacement::impl {
  explicit impl(const fs::path& file) : target(find_end(file)) {
    exists = find_status(target, old);
    if (exists && (target.is_proc || !S_ISREG(old.st_mode))) fail("write", file, no_file);
    remove_leftovers(target.folder.number());
    constexpr mode_t owner = 0600;
    fresh.emplace(target.folder.number(), file, exists ? (old.st_mode & anybody) | owner : anybody);
  }

  path_end target;
  struct stat old{};
  bool exists = false;
  std::optional<temporary_file> fresh;
};

file_replacement::file_replacement(const fs::path& file) : impl_(std::make_unique<impl>(file)) {}
file_replacement::~file_replacement() = default;

void file_replacement::write(const void* data, std::size_t bytes) {
  impl_->fresh->write({static_cast<const char*>(data), bytes});
}

/// The content has to be on the disk before the name is. The lock is held until the temporary name is gone.
void file_replacement::commit() {
  constexpr mode_t permissions = 0777;
  // The permissions of another user's file must not apply to a file of this user.
  if (impl_->exists && impl_->old.st_uid == ::geteuid()) impl_->fresh->set_mode(impl_->old.st_mode & permissions);
  impl_->fresh->sync();
  impl_->fresh->rename_to(impl_->target.name);
  sync_folder(impl_->target.folder.number());
}

void replace_file(const fs::path& file, std::string_view content) {
  file_replacement fresh(file);
  fresh.write(content.data(), content.size());
  fresh.commit();
}

void write_output(const fs::path& file, std::string_view content) {
  const path_end end = find_end(file);
  struct stat status{};
  if (!find_status(end, status) || !is_stream(end, status)) return replace_file(file, content);
  auto stream = own_descriptor(end);
  if (!stream)
    stream = open_at(end.folder.number(), end.name.c_str(), O_WRONLY | O_NOCTTY | (end.is_proc ? 0 : O_NOFOLLOW));
  if (!stream->is_open() || ::fstat(stream->number(), &status) != 0) fail("write", file);
  if (!is_stream(end, status)) fail("write", file, "it was replaced while it was being opened; try again");
  if (!write_all(stream->number(), content) || !stream->close()) fail("write", file);
}

/// A file is replaced by a temporary one, so a temporary one is made. Permissions alone do not tell: root may write to
/// /proc, but no file can be made there.
void need_writable(const fs::path& file) {
  const path_end end = find_end(file);
  struct stat status{};
  const bool exists = find_status(end, status);
  if (exists && S_ISDIR(status.st_mode)) fail("write", file, std::generic_category().message(EISDIR));
  if (!exists || !is_stream(end, status)) {
    const file_replacement discarded(file);
    return;
  }
  if (::faccessat(end.folder.number(), end.name.c_str(), W_OK, AT_EACCESS) != 0) fail("write", file);
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
  fail("read", file, no_file);
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

}  // namespace SYCLAMP_NAMESPACE
