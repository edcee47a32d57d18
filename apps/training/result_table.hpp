// SPDX-License-Identifier: Apache-2.0
// The table that `syclamp train` prints.
#pragma once

#include <string>

#include "apps/training/result.hpp"

namespace syclamp::training {

/// A line for each run.
std::string table_of(const task_result& task);

}  // namespace syclamp::training
