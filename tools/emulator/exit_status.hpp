// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace emulator {

/// How a test program ends after a fault, so that a test can tell it from a failed check.
inline constexpr int exit_after_fault = 99;

}  // namespace emulator
