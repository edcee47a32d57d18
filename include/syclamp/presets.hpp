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

/// The scaling policy of another framework, or `syclamp` for the default policy. Over any sequence of clean and
/// overflowing steps, the scale is bit-identical to the framework's in FP32 (`openseq2seq-logmax`: within rounding).
/// Unlike in some frameworks, no scale leaves [2^-126, largest FP32].
/// \param name  the name of a preset, for example `pytorch`; `scaling_presets` lists all names
/// \return the policy, whose fields you may change
/// \throws invalid_argument that lists the names, if there is no such preset
SYCLAMP_API scaling_policy scaling_preset(std::string_view name);

/// The description of a preset.
struct preset_info {
  std::string name;       ///< for `scaling_preset`
  std::string framework;  ///< the framework whose rules it replays
  std::string note;       ///< differences from the framework, and defaults that the framework lacks; may be empty
};

/// All presets, `syclamp` first.
SYCLAMP_API const std::vector<preset_info>& scaling_presets();

}  // namespace SYCLAMP_NAMESPACE
