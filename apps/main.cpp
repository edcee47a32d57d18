// SPDX-License-Identifier: Apache-2.0
// The syclamp program. Exit codes: 0 good, 1 failed, 2 usage, 130 interrupted (SIGINT), 143 terminated (SIGTERM).
#include <csignal>
#include <exception>
#include <sstream>

#include <fmt/format.h>

#include "apps/commands/commands.hpp"
#include "apps/support/interruption.hpp"
#include "apps/support/standard_streams.hpp"
#include "syclamp/syclamp.hpp"

namespace {

using syclamp::program::print_error;

/// What --help and --version ask for.
int show_answer(const CLI::App& program, const CLI::ParseError& request) {
  std::ostringstream text;
  program.exit(request, text, text);
  fmt::print("{}", text.str());
  return 0;
}

/// \return the exit code
int run(CLI::App& program, int argc, char** argv) {
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& request) {
    if (request.get_exit_code() == 0) return show_answer(program, request);
    print_error(std::string(request.what()) + " (see syclamp --help)");
    return 2;
  } catch (const syclamp::program::interrupted& signal) {
    print_error(signal.signal == SIGTERM ? "terminated" : "interrupted");
    return 128 + signal.signal;
  } catch (const std::exception& failed) {
    print_error(failed.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  syclamp::program::reserve_standard_streams();
  CLI::App program("Mixed-precision loss scaling for every device that SYCL reaches.", "syclamp");
  program.set_version_flag("--version", syclamp::library_version());
  program.require_subcommand(1);
  program.footer(
      "`syclamp COMMAND --help` explains a command.\n"
      "Exit codes: 0 good, 1 failed, 2 wrong usage, 130 interrupted by Ctrl-C, 143 by SIGTERM.");
  syclamp::program::add_info_command(program);
  syclamp::program::add_simulate_command(program);
  syclamp::program::add_exponents_command(program);
  syclamp::program::add_train_command(program);
  syclamp::program::add_bench_command(program);
  try {
    const int code = run(program, argc, argv);
    if (code == 0) syclamp::program::flush_output();
    return code;
  } catch (const std::exception& failed) {
    print_error(failed.what());
    return 1;
  }
}
