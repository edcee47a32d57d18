// SPDX-License-Identifier: Apache-2.0
// Standard output and standard error of the program.
#pragma once

#include <string_view>

namespace syclamp::program {

/// Call it before any file is opened. Reserves the numbers of closed standard streams. Otherwise the next opened file
/// would get such a number, and output would be written into that file.
void reserve_standard_streams();

/// A line on standard error that begins with the program's name. Control characters are escaped.
void print_error(std::string_view message);

/// Flushes standard output. Called before long work, so that a write error is reported early.
/// \throws std::runtime_error if anything that was printed could not be written
void flush_output();

}  // namespace syclamp::program
