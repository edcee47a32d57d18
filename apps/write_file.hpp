// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace syclamp::program {

/// Writes a whole file or none: the text goes to a temporary name beside it, which is then renamed.
/// \throws std::runtime_error that names the file
void write_file(const std::filesystem::path& file, std::string_view text);

/// Before work whose results are to be written: whether `write_file` has a chance.
/// \throws std::runtime_error that names the file
void need_writable(const std::filesystem::path& file);

}  // namespace syclamp::program
