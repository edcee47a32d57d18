// SPDX-License-Identifier: Apache-2.0
// The page that shows what training has shown.
#pragma once

#include <filesystem>

namespace syclamp::program {

/// Before training: whether there is a Python and a program that make reports.
/// \throws std::runtime_error that says what is missing
void need_report_program();

/// Has `folder`/index.html made from a JSON of `syclamp train`, by the Python program of pages/. Ctrl-C does not end
/// that program.
/// \throws std::runtime_error that says what is missing, or what the program said
void make_report(const std::filesystem::path& json_file, const std::filesystem::path& folder);

}  // namespace syclamp::program
