// SPDX-License-Identifier: Apache-2.0
// New files under temporary names, which are then renamed over other files.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "support/descriptor.hpp"
#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// A new file in an open folder. It is removed unless it takes the place of another.
///
/// Its name cannot be guessed, and it never is a file that was there before. Its writer holds a lock (flock).
class temporary_file {
 public:
  /// \param folder  must stay open
  /// \param target  what messages call it
  /// \param mode    permissions until the file is complete
  /// \throws error that names the target, as do all of its functions
  temporary_file(int folder, std::filesystem::path target, mode_t mode);
  ~temporary_file();
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  void write(std::string_view content);
  void set_mode(mode_t mode);

  /// Waits until the content is on the disk.
  void sync();

  /// Renames the file to `name`, replacing a file of that name.
  void rename_to(const std::string& name);

 private:
  bool is_kept() const;

  int folder_;
  std::filesystem::path target_;
  std::string name_;
  descriptor file_;
  bool has_moved_ = false;
};

/// Removes temporary files that killed processes of this machine have left in a folder. Writers hold a lock, and where
/// there are no locks nothing is removed. Failures are ignored, because leftovers only take disk space.
void remove_leftovers(int folder);

/// Writes all of `content`. False if that fails; `errno` has the reason.
bool write_all(int file, std::string_view content);

/// \throws error: cannot read or write this file, with the reason that the system gives in `errno`
[[noreturn]] void fail(const char* verb, const std::filesystem::path& file);
[[noreturn]] void fail(const char* verb, const std::filesystem::path& file, std::string_view reason);

}  // namespace SYCLAMP_NAMESPACE
