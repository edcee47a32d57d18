// SPDX-License-Identifier: Apache-2.0
// The HTML report of `syclamp train`.
#pragma once

#include <filesystem>

namespace syclamp::program {

/// Checks before training that the Python and the program for reports exist.
/// \throws std::runtime_error that says what is missing
void need_report_program();

/// Makes `folder`/index.html from a JSON file of `syclamp train`, with the Python program of apps/report. Ctrl-C does
/// not end that program.
/// \throws std::runtime_error that names the missing file, or the failure of the program
void make_report(const std::filesystem::path& json_file, const std::filesystem::path& folder);

}  // namespace syclamp::program
