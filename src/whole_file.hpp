// SPDX-License-Identifier: Apache-2.0
// Files that are read and written as a whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace syclamp {

/// \throws error that names the file and the reason: also if it is longer than `longest`
std::string read_whole_file(const std::filesystem::path& file, std::size_t longest);

/// Puts a new file in the place of an old one, if there is one. At any moment, also when the machine loses power, the
/// old or the new one is there, whole. Follows links; keeps the permissions of the old file.
/// \throws error that names the file and the reason; the old file is as it was then
void replace_file(const std::filesystem::path& file, std::string_view content);

}  // namespace syclamp
