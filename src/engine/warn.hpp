// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// Hands one line to the user's warning handler.
void warn_text(std::string_view line);

/// The same, but a line that this process has already had is dropped.
void warn_once(const std::string& line);

template <typename... Args>
void warn(fmt::format_string<Args...> text, Args&&... args) {
  warn_text(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace SYCLAMP_NAMESPACE
