// SPDX-License-Identifier: Apache-2.0
#include "support/folder_entries.hpp"

#include <dirent.h>

#include <memory>

#include "support/descriptor.hpp"

namespace SYCLAMP_NAMESPACE {

std::vector<std::string> entry_names(int folder) {
  std::vector<std::string> names;
  // A descriptor of its own: `fdopendir` takes it over, and its position must not be shared.
  const int copy = uninterrupted([&] { return ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(copy < 0 ? nullptr : ::fdopendir(copy), close);
  if (!stream) return names;
  while (const dirent* entry = ::readdir(stream.get())) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace SYCLAMP_NAMESPACE
