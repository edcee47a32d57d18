// SPDX-License-Identifier: Apache-2.0
// Files that are read and written as a whole: at once, or block by block if they are too large for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// \throws error that names the file and the reason: also if it is longer than `longest`
std::string read_whole_file(const std::filesystem::path& file, std::size_t longest);

/// Puts a new file in the place of an old one, if there is one. At any moment, even at a power failure, either the
/// complete old file or the complete new file exists. Keeps the permissions of the old file if it belongs to the user.
/// Another user's old file can only narrow what the umask allows.
///
/// Links of the user and of root are followed: the file that they lead to is replaced. Links of other users are
/// refused, wherever in the path they are: they could make the user replace a file of theirs.
/// \throws error that names the file and the reason; the old file is then unchanged
void replace_file(const std::filesystem::path& file, std::string_view content);

/// The same for outputs of a program, which may also be a pipe, a terminal or another character device, or an open file
/// or socket of this process (/dev/stdout): those are written to in place, from their current position.
void write_output(const std::filesystem::path& file, std::string_view content);

/// Checks early, before long work, that the file can be written.
/// \throws error that names the file and the reason
void need_writable(const std::filesystem::path& file);

/// The same, block by block. `commit` replaces the old file. Without it, the old file stays and no new file remains.
///
/// A process that is killed leaves its temporary file, `.syclamp-<machine>-….new`, beside the target. The next file
/// that is replaced in the same folder by the same machine removes all of them whose writers are gone. Writers lock
/// their files (flock), so files still being written are not touched.
class file_replacement {
 public:
  explicit file_replacement(const std::filesystem::path& file);
  ~file_replacement();
  file_replacement(const file_replacement&) = delete;
  file_replacement& operator=(const file_replacement&) = delete;

  void write(const void* data, std::size_t bytes);

  /// Puts the content on the disk, then the name.
  void commit();

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

/// A file that is read block by block. It stays the same file even if another file takes its name.
class file_reader {
 public:
  /// \throws error that names the file and the reason: also if it is no regular file, whose size is known
  explicit file_reader(const std::filesystem::path& file);
  ~file_reader();
  file_reader(const file_reader&) = delete;
  file_reader& operator=(const file_reader&) = delete;

  std::uint64_t size() const { return size_; }

  /// All of the `bytes` bytes from `offset` on.
  /// \throws error if they are not there
  void read(std::uint64_t offset, void* data, std::size_t bytes) const;

 private:
  std::filesystem::path file_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace SYCLAMP_NAMESPACE
