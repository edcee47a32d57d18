// SPDX-License-Identifier: Apache-2.0
// The result of a comparison in five lines.
#pragma once

#include <span>
#include <string>

#include "apps/training/result.hpp"

namespace syclamp::training {

/// Five lines for people: what was trained, what FP16 without scaling lost, what dynamic scaling reached, what it cost,
/// and what to look at in the report. Empty unless every task has finished runs of FP32, of FP16 without scaling and of
/// FP16 with dynamic scaling.
std::string summary_of(std::span<const task_result> tasks);

}  // namespace syclamp::training
