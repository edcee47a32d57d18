// SPDX-License-Identifier: Apache-2.0
// The JSON of `syclamp train`. Its keys are a contract, see --help.
#pragma once

#include <nlohmann/json.hpp>

#include "apps/training/result.hpp"

namespace syclamp::training {

nlohmann::ordered_json json_of(const run_result& run);
nlohmann::ordered_json json_of(const task_result& task);

}  // namespace syclamp::training
