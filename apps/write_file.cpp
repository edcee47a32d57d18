// SPDX-License-Identifier: Apache-2.0
#include "apps/write_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace syclamp::program {

void write_file(const std::filesystem::path& file, std::string_view text) {
  const auto fail = [&] { throw std::runtime_error("cannot write " + file.string() + ": " + std::strerror(errno)); };
  std::filesystem::path temporary = file;
  temporary += ".new";
  std::ofstream stream(temporary, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) fail();
  std::error_code failed;
  std::filesystem::rename(temporary, file, failed);
  if (failed) {
    std::filesystem::remove(temporary, failed);
    fail();
  }
}

}  // namespace syclamp::program
