// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace syclamp {

/// The names in an open folder (O_PATH suffices), with "." and "..". Empty if the folder cannot be read.
std::vector<std::string> entry_names(int folder);

}  // namespace syclamp
