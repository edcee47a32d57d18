// SPDX-License-Identifier: Apache-2.0
// What a program that executes PTX can ask of the emulator behind its launch seam.
#pragma once

#include "tools/emulator/store.hpp"

namespace emulator {

/// The kernels that were executed so far in this process, with their counts.
const kernel_store& executed_kernels();

}  // namespace emulator
