// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "syclamp/export.hpp"
#include "syclamp/scaler_snapshot.hpp"

namespace SYCLAMP_NAMESPACE {

/// Limit of the counters in a file: at most half of their range. At one step per microsecond, training would take 150
/// years to get there.
inline constexpr std::uint64_t max_loaded_steps = std::uint64_t{1} << 52;
inline constexpr std::uint32_t max_loaded_count = std::uint32_t{1} << 31;

/// Checks a state before it is saved and after it was read: every saved state can be loaded and used.
/// \throws invalid_argument that names the field
void check(const scaler_snapshot& snapshot);

}  // namespace SYCLAMP_NAMESPACE
