// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

namespace syclamp::program {

// Each adds its command to the program; the command runs when the command line names it.
void add_bench_command(CLI::App& program);
void add_exponents_command(CLI::App& program);
void add_info_command(CLI::App& program);
void add_simulate_command(CLI::App& program);
void add_train_command(CLI::App& program);
void add_verify_command(CLI::App& program);

}  // namespace syclamp::program
