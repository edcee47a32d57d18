// SPDX-License-Identifier: Apache-2.0
// The syclamp program. Exit codes: 0 good, 1 failed, 2 usage, 130 interrupted.
#include <cstdio>
#include <exception>

#include "apps/commands.hpp"
#include "apps/interruption.hpp"
#include "syclamp/syclamp.hpp"

int main(int argc, char** argv) {
  CLI::App program("Mixed-precision loss scaling for every device that SYCL reaches.", "syclamp");
  program.set_version_flag("--version", syclamp::version());
  program.require_subcommand(1);
  program.footer("`syclamp COMMAND --help` explains a command.");
  syclamp::program::add_info_command(program);
  syclamp::program::add_simulate_command(program);
  syclamp::program::add_exponents_command(program);
  syclamp::program::add_train_command(program);
  syclamp::program::add_bench_command(program);
  try {
    program.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& asked) {
    if (asked.get_exit_code() == 0) return program.exit(asked);  // --help, --version
    std::fprintf(stderr, "syclamp: %s (see syclamp --help)\n", asked.what());
    return 2;
  } catch (const syclamp::program::interrupted&) {
    std::fprintf(stderr, "syclamp: interrupted\n");
    return 130;
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "syclamp: %s\n", failed.what());
    return 1;
  }
}
