// SPDX-License-Identifier: Apache-2.0
#include "apps/report_page.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace syclamp::program {
namespace {

namespace fs = std::filesystem;

/// The environment's Python, or the one that set-up has made for reports.
fs::path python() {
  if (const char* named = std::getenv("SYCLAMP_PYTHON"); named != nullptr && *named != '\0') return named;
  return SYCLAMP_REPORT_PYTHON;
}

/// Beside an installed program, or in the source folder.
fs::path report_program() {
  std::error_code failed;
  const fs::path installed =
      fs::read_symlink("/proc/self/exe", failed).parent_path() / ".." / "share" / "syclamp" / "report";
  return fs::exists(installed / "__main__.py", failed) ? installed : fs::path(SYCLAMP_REPORT_MAIN);
}

}  // namespace

void make_report(const fs::path& json_file, const fs::path& folder) {
  const fs::path interpreter = python(), program = report_program(), page = folder / "index.html";
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(
        fmt::format("cannot make {}: {}; what training has shown is in {}", page.string(), why, json_file.string()));
  };
  std::error_code failed;
  if (interpreter.has_parent_path() && !fs::exists(interpreter, failed))
    refuse(
        fmt::format("there is no {}; ./run setup makes it, or set SYCLAMP_PYTHON to a Python with what "
                    "setup/report.lock lists",
                    interpreter.string()));
  if (!fs::exists(program / "__main__.py", failed))
    refuse(fmt::format("there is no report program in {}", program.string()));

  std::vector<std::string> words{interpreter.string(), program.string(), json_file.string(), "-o", page.string()};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (const int problem = posix_spawnp(&child, words[0].c_str(), nullptr, nullptr, arguments.data(), environ))
    refuse(fmt::format("{} does not start: {}", words[0], std::strerror(problem)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) refuse("the report program failed, see above");
}

}  // namespace syclamp::program
