// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// A text for a terminal, on one line: control characters, what changes the direction of text, and bytes that are no
/// UTF-8 are spelt out (`\x1b`, `\u202e`), so that names in files and of files cannot command the terminal.
std::string printable(std::string_view text);

}  // namespace SYCLAMP_NAMESPACE
