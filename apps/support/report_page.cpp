// SPDX-License-Identifier: Apache-2.0
#include "apps/support/report_page.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace syclamp::program {
namespace {

namespace fs = std::filesystem;

/// SYCLAMP_PYTHON, or the Python that ./run setup has installed for reports.
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

/// A file that can be run; a name without a folder is looked for in PATH, as a shell does.
bool can_run(const fs::path& program) {
  if (program.has_parent_path()) return access(program.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((fs::path(folder.empty() ? "." : folder) / program).c_str(), X_OK) == 0) return true;
  return false;
}

/// Runs a program in a process group of its own, so that Ctrl-C of a terminal does not reach it.
/// \return the problem; empty if there is none
std::string run_apart(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t child = 0;
  const int problem = posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) return fmt::format("cannot start {}: {}", words[0], std::strerror(problem));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fmt::format("lost track of {}: {}", words[0], std::strerror(errno));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : "the report program failed, see above";
}

}  // namespace

void need_report_program() {
  const fs::path interpreter = python(), program = report_program();
  if (!can_run(interpreter))
    throw std::runtime_error(
        fmt::format("--report: the Python interpreter {} does not exist or is not executable; run ./run setup, or set "
                    "SYCLAMP_PYTHON to a Python with the packages of setup/report.lock",
                    interpreter.string()));
  if (std::error_code failed; !fs::exists(program / "__main__.py", failed))
    throw std::runtime_error(
        fmt::format("--report: the report program is missing in {}; reinstall syclamp", program.string()));
}

void make_report(const fs::path& json_file, const fs::path& folder) {
  const fs::path page = folder / "index.html";
  const std::string problem =
      run_apart({python().string(), report_program().string(), json_file.string(), "-o", page.string()});
  if (!problem.empty())
    throw std::runtime_error(
        fmt::format("cannot write {}: {}; the training results are in {}", page.string(), problem, json_file.string()));
}

}  // namespace syclamp::program
