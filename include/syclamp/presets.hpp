// SPDX-License-Identifier: Apache-2.0
/// \file
/// The scaling policies of other frameworks, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <syclamp/export.hpp>
#include <syclamp/scaling_policy.hpp>

namespace SYCLAMP_NAMESPACE {

/// The policy of a framework, or `syclamp`: same scale after every step, in FP32 bits, over any sequence of clean and
/// overflowing steps (`openseq2seq-logmax`, which has no counters, within rounding). Two bounds are everybody's: no
/// scale leaves [2^-126, largest FP32].
/// \throws invalid_argument that lists the names, if there is no such preset
SYCLAMP_API scaling_policy scaling_preset(std::string_view name);

/// What is worth knowing of a preset.
struct preset_info {
  std::string name;
  std::string framework;  ///< the framework whose rules it replays
  std::string note;       ///< what it does where the framework is broken or throws; empty if there is nothing to say
};

/// All presets, `syclamp` first.
SYCLAMP_API const std::vector<preset_info>& scaling_presets();

}  // namespace SYCLAMP_NAMESPACE
