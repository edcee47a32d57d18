// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where warnings go. The library never prints by itself but through this one function.
#pragma once

#include <functional>
#include <string_view>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// Takes one line of warning, without a line break.
using warning_handler = std::function<void(std::string_view)>;

/// Sends warnings to `handler` from now on and returns the previous one. An empty handler drops them. The default
/// writes `syclamp: warning: …` to standard error. May be called at any time, from any thread.
SYCLAMP_API warning_handler on_warning(warning_handler handler);

}  // namespace SYCLAMP_NAMESPACE
