// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/kernel_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "checksum.hpp"
#include "warn.hpp"

namespace syclamp::launch::jit {
namespace {

namespace fs = std::filesystem;

// A file is: magic, length of the key, length of the content, checksum of the content, key, content.
constexpr std::array<char, 8> magic = {'s', 'y', 'c', 'l', 'a', 'm', 'p', '1'};

struct header {
  std::array<char, 8> magic;
  std::uint64_t key_size;
  std::uint64_t content_size;
  std::uint64_t checksum;  // against accidents; against malice there is `folder_is_ours`
};

std::string_view text_of(const std::vector<char>& bytes) { return {bytes.data(), bytes.size()}; }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

fs::path kernel_cache::default_folder() {
  if (environment("SYCLAMP_CACHE") == "off") return {};
  if (const auto named = environment("SYCLAMP_CACHE_DIR"); !named.empty()) return named;
  // The base directory specification: a relative XDG_CACHE_HOME is to be ignored.
  if (const fs::path base = environment("XDG_CACHE_HOME"); base.is_absolute()) return base / "syclamp";
  if (const fs::path home = environment("HOME"); home.is_absolute()) return home / ".cache" / "syclamp";
  return {};
}

fs::path kernel_cache::file_of(const std::string& key) const {
  return folder_ / fmt::format("{:016x}.kernels", checksum(key));
}

std::optional<std::vector<char>> kernel_cache::load(const std::string& key) const {
  if (folder_.empty()) return {};
  const fs::path path = file_of(key);
  std::ifstream file(path, std::ios::binary);
  if (!file || !folder_is_ours()) return {};

  const auto refuse = [&](std::string_view why) -> std::optional<std::vector<char>> {
    warn("ignored the kernel cache file {}: {}; it will be written again", path.string(), why);
    return {};
  };
  header head{};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head)) return refuse("it is truncated");
  if (head.magic != magic) return refuse("it was not written by this version of syclamp");
  // The size of the open file: another process may be replacing the one with this name.
  file.seekg(0, std::ios::end);
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(sizeof head);
  if (head.key_size > size || head.content_size > size || sizeof head + head.key_size + head.content_size != size)
    return refuse("it is truncated or damaged");
  std::string stored_key(head.key_size, '\0');
  std::vector<char> content(head.content_size);
  if (!file.read(stored_key.data(), static_cast<std::streamsize>(stored_key.size())) ||
      !file.read(content.data(), static_cast<std::streamsize>(content.size())))
    return refuse("it cannot be read");
  if (stored_key != key) return refuse("it belongs to other kernels");
  if (checksum(text_of(content)) != head.checksum) return refuse("its checksum is wrong");
  return content;
}

void kernel_cache::store(const std::string& key, const std::vector<char>& content) const {
  if (folder_.empty()) return;
  const auto give_up = [&](std::string_view why) {
    warn("compiled kernels are not kept: {}; set SYCLAMP_CACHE_DIR to a folder of yours, or SYCLAMP_CACHE=off", why);
  };
  std::error_code failed;
  fs::create_directories(folder_.parent_path(), failed);
  mkdir(folder_.c_str(), S_IRWXU);  // ours from the start, whatever the umask
  if (!fs::is_directory(folder_, failed)) return give_up(fmt::format("cannot make the folder {}", folder_.string()));
  if (!folder_is_ours()) return give_up(fmt::format("others may write to {}", folder_.string()));

  // A name that no other process and no other thread uses; renaming it is atomic.
  std::string temporary = (folder_ / "new-XXXXXX").string();
  const int descriptor = mkstemp(temporary.data());
  if (descriptor < 0) return give_up(fmt::format("cannot write to {}: {}", folder_.string(), std::strerror(errno)));
  close(descriptor);
  const header head{magic, key.size(), content.size(), checksum(text_of(content))};
  std::ofstream file(temporary, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&head), sizeof head);
  file.write(key.data(), static_cast<std::streamsize>(key.size()));
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (file) fs::rename(temporary, file_of(key), failed);
  if (!file || failed) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    give_up(fmt::format("cannot write to {}: disk full?", folder_.string()));
  }
}

// Compiled kernels are code that we run: a folder that another user could write to is not trusted.
bool kernel_cache::folder_is_ours() const {
  struct stat status{};
  if (stat(folder_.c_str(), &status) != 0) return false;
  return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace syclamp::launch::jit
