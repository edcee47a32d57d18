// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "syclamp/export.hpp"
#include "syclamp/scaler_snapshot.hpp"

namespace SYCLAMP_NAMESPACE {

/// How far counters of a file may have come: half of what they could count, or less. A step each microsecond would take
/// a century and a half.
inline constexpr std::uint64_t max_loaded_steps = std::uint64_t{1} << 52;
inline constexpr std::uint32_t max_loaded_count = std::uint32_t{1} << 31;

/// What is saved can be loaded, and what is loaded can be used: the same is asked of both.
/// \throws invalid_argument that names the field
void check(const scaler_snapshot& snapshot);

}  // namespace SYCLAMP_NAMESPACE
