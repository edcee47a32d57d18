// SPDX-License-Identifier: Apache-2.0
// Compiled kernels on disk. Nothing here knows of SYCL: bytes are kept under a key that says all they depend on.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace syclamp::launch::jit {

/// A folder with one file a key. Any number of processes may use it at once: files appear whole, by renaming.
/// Whatever is wrong with a file or with the folder costs a warning and a compilation, never more.
class kernel_cache {
 public:
  /// `folder` empty: no cache, nothing is ever found or stored.
  explicit kernel_cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The folder that the environment asks for: SYCLAMP_CACHE=off, SYCLAMP_CACHE_DIR, XDG_CACHE_HOME or HOME, in this
  /// order. Empty if the cache is off or none of them is set.
  static std::filesystem::path default_folder();

  std::optional<std::vector<char>> load(const std::string& key) const;
  void store(const std::string& key, const std::vector<char>& content) const;

  /// Where the content of `key` is kept.
  std::filesystem::path file_of(const std::string& key) const;

 private:
  bool folder_is_ours() const;

  std::filesystem::path folder_;
};

}  // namespace syclamp::launch::jit
