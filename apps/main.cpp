// SPDX-License-Identifier: Apache-2.0
// The syclamp program. Exit codes: 0 good, 1 failed, 2 usage, 130 interrupted (SIGINT), 143 terminated (SIGTERM).
#include <csignal>
#include <exception>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "apps/commands/commands.hpp"
#include "apps/support/interruption.hpp"
#include "apps/support/standard_streams.hpp"
#include "syclamp/syclamp.hpp"

namespace {

using syclamp::program::print_error;

/// Prints the text of --help or --version.
int show_answer(const CLI::App& program, const CLI::ParseError& request) {
  std::ostringstream text;
  program.exit(request, text, text);
  fmt::print("{}", text.str());
  return 0;
}

/// CLI11 itself does not name an unknown command.
void check_command(const CLI::App& program, int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "--help";
  if (command.starts_with('-')) return;
  std::string names;
  for (const CLI::App* known : program.get_subcommands({})) {
    if (known->get_name() == command) return;
    names += (names.empty() ? "" : ", ") + known->get_name();
  }
  throw CLI::ExtrasError(fmt::format("the command \"{}\" does not exist; choose one of these: {}", command, names),
                         CLI::ExitCodes::ExtrasError);
}

/// \return the exit code
int run(CLI::App& program, int argc, char** argv) {
  try {
    check_command(program, argc, argv);
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& request) {
    if (request.get_exit_code() == 0) return show_answer(program, request);
    print_error(std::string(request.what()) + " (see `syclamp --help` and `syclamp COMMAND --help`)");
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
  CLI::App program("Mixed-precision loss scaling on SYCL devices: GPUs and CPUs.", "syclamp");
  program.set_version_flag("--version", syclamp::library_version());
  program.require_subcommand(1);
  program.option_defaults()->disable_flag_override();  // --quick=3 is refused
  program.footer(
      "Examples:\n"
      "  syclamp info                                  check that the device works\n"
      "  syclamp exponents --scale 65536               see which gradients FP16 loses without a loss scale\n"
      "  syclamp simulate --preset pytorch --trace ..i..    see how a policy moves its scale\n"
      "  syclamp train --compare                       train in FP32, FP16 and BF16 and compare\n"
      "  syclamp bench --op adamw_step_clip            measure an optimizer step\n\n"
      "`syclamp COMMAND --help` explains the options of a command.\n"
      "Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted by Ctrl-C, 143 terminated by SIGTERM.");
  syclamp::program::add_info_command(program);
  syclamp::program::add_simulate_command(program);
  syclamp::program::add_exponents_command(program);
  syclamp::program::add_train_command(program);
  syclamp::program::add_bench_command(program);
  syclamp::program::add_verify_command(program);
  try {
    const int code = run(program, argc, argv);
    if (code == 0) syclamp::program::flush_output();
    return code;
  } catch (const std::exception& failed) {
    print_error(failed.what());
    return 1;
  }
}
