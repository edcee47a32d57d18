// SPDX-License-Identifier: Apache-2.0
#include "apps/write_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

namespace syclamp::program {

void write_file(const std::filesystem::path& file, std::string_view text) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const bool is_device_or_pipe = fs::exists(file, failed) && !fs::is_regular_file(file, failed);
  fs::path target = file;
  if (!is_device_or_pipe) target += ".new";
  errno = 0;
  std::ofstream stream(target, std::ios::binary);
  stream << text;
  stream.close();
  std::string problem = stream ? "" : std::strerror(errno);
  if (problem.empty() && target != file) {
    fs::rename(target, file, failed);
    if (failed) problem = failed.message();
  }
  if (problem.empty()) return;
  if (target != file) fs::remove(target, failed);
  throw std::runtime_error("cannot write " + file.string() + ": " + problem);
}

}  // namespace syclamp::program
