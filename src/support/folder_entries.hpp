// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "syclamp/export.hpp"

namespace SYCLAMP_NAMESPACE {

/// The names in an open folder (O_PATH suffices), with "." and "..". Empty if the folder cannot be read.
std::vector<std::string> entry_names(int folder);

}  // namespace SYCLAMP_NAMESPACE
