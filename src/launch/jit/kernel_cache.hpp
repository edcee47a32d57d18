// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk. This file does not depend on SYCL: it stores bytes under a key that names everything they
// depend on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace syclamp::launch::jit {

/// A folder with one file per key. Any number of processes may use it at once, because files are renamed into place
/// when they are complete. A bad file or folder costs a warning and a compilation, never more.
///
/// Compiled kernels are code that runs as the user. So a folder is used only if nobody but the user and root can put
/// a file into it, or another folder into its place; and a file only if it belongs to one of them.
class kernel_cache {
 public:
  /// Default limit of a folder in bytes. SYCLAMP_CACHE_SIZE overrides it.
  static constexpr std::uint64_t default_size = std::uint64_t{1} << 30;

  /// \param folder  empty: no cache, nothing is ever found or stored
  /// \param size    how many bytes the files may have together; 0 is any number
  explicit kernel_cache(std::filesystem::path folder, std::uint64_t size = default_size)
      : folder_(std::move(folder)), size_(size) {}

  /// The caches that the environment selects, in the order in which they are searched. New kernels go to the last one.
  /// There are two caches if SYCLAMP_CACHE_DIR is read-only for the user: that one, and the user's own.
  static std::vector<kernel_cache> from_environment();

  /// The first folder that the environment selects: SYCLAMP_CACHE_DIR, or the user's own. Empty if SYCLAMP_CACHE is
  /// `off` or there is none.
  static std::filesystem::path default_folder();

  /// XDG_CACHE_HOME/syclamp, else HOME/.cache/syclamp, else .cache/syclamp in the user's home directory from the
  /// password database.
  static std::filesystem::path user_folder();

  /// Notes when a file was last used, if it belongs to the user.
  std::optional<std::vector<char>> load(const std::string& key) const;

  /// Removes the files that have not been used for longest if all of them together are too large.
  void store(const std::string& key, const std::vector<char>& content) const;

  /// Where the content of `key` is kept.
  std::filesystem::path file_of(const std::string& key) const;

 private:
  std::filesystem::path folder_;
  std::uint64_t size_;
};

}  // namespace syclamp::launch::jit
