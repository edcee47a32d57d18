// SPDX-License-Identifier: Apache-2.0
#include "apps/write_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

namespace syclamp::program {
namespace {

namespace fs = std::filesystem;

/// What is not a regular file is written to as it is: a device, a pipe.
bool is_device_or_pipe(const fs::path& file) {
  std::error_code failed;
  return fs::exists(file, failed) && !fs::is_regular_file(file, failed);
}

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
  throw std::runtime_error("cannot write " + file.string() + ": " + why);
}

}  // namespace

void need_writable(const fs::path& file) {
  std::error_code failed;
  if (fs::is_directory(file, failed)) refuse(file, std::strerror(EISDIR));
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!is_device_or_pipe(file) && !fs::is_directory(folder, failed))
    refuse(file, "there is no folder " + folder.string());
  const bool is_allowed =
      is_device_or_pipe(file) ? access(file.c_str(), W_OK) == 0 : access(folder.c_str(), W_OK | X_OK) == 0;
  if (!is_allowed) refuse(file, std::strerror(errno));
}

void write_file(const std::filesystem::path& file, std::string_view text) {
  std::error_code failed;
  fs::path target = file;
  if (!is_device_or_pipe(file)) target += ".new";
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
  refuse(file, problem);
}

}  // namespace syclamp::program
