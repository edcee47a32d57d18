// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "syclamp/scaler_snapshot.hpp"

namespace syclamp {

/// What is saved can be loaded, and what is loaded can be used: the same is asked of both.
/// \throws invalid_argument that names the field
void check(const scaler_snapshot& snapshot);

}  // namespace syclamp
