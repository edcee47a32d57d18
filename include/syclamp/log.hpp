// SPDX-License-Identifier: Apache-2.0
/// \file
/// The handler of warnings. The library prints nothing except through it.
#pragma once

#include <functional>
#include <string_view>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// A function that receives one warning, a line without a line break.
using warning_handler = std::function<void(std::string_view)>;

/// Sets the handler of warnings. The default handler writes `syclamp: warning: …` to standard error. May be called at
/// any time, from any thread.
/// \param handler  the new handler; empty: warnings are dropped
/// \return the previous handler
SYCLAMP_API warning_handler on_warning(warning_handler handler);

}  // namespace SYCLAMP_NAMESPACE
