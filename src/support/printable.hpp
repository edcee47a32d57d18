// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// A text for a terminal, on one line. Escapes control characters, marks that change the direction of text, and bytes
/// that are not UTF-8 (`\x1b`, `\u202e`), so that names in files cannot control the terminal.
std::string printable(std::string_view text);

}  // namespace SYCLAMP_NAMESPACE
