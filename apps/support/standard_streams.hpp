// SPDX-License-Identifier: Apache-2.0
// What the program says on standard output and standard error.
#pragma once

#include <string_view>

namespace syclamp::program {

/// Before anything is opened: a standard stream that is closed gets a place of its own. Else the next file that is
/// opened would get its number, and output would be written into that file.
void reserve_standard_streams();

/// A line on standard error that begins with the program's name. Nothing in it can command a terminal.
void print_error(std::string_view message);

/// Writes what is still held back. Called before long work, so that output that cannot be written is told at once.
/// \throws std::runtime_error if anything that was printed could not be written
void flush_output();

}  // namespace syclamp::program
