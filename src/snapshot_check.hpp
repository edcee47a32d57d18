// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "syclamp/scaler_snapshot.hpp"

namespace syclamp {

/// What is saved can be loaded, and what is loaded can be used: the same is asked of both.
/// \throws invalid_argument that names the field
void check(const scaler_snapshot& snapshot);

/// As in a binary file.
/// \throws invalid_argument that says what is wrong
std::string to_binary(const scaler_snapshot& snapshot);
scaler_snapshot snapshot_from_binary(std::string_view bytes);

}  // namespace syclamp
