// SPDX-License-Identifier: Apache-2.0
// The internals of an optimizer, for the code that saves and loads it.
#pragma once

#include <span>
#include <vector>

#include "optimizer/optimizer_rules.hpp"
#include "optimizer/step_progress.hpp"
#include "syclamp/export.hpp"
#include "syclamp/fused_optimizer.hpp"

namespace SYCLAMP_NAMESPACE {

/// Whether the forward pass reads a copy of the weights, which could be made again from them.
inline bool has_copy(const kernels::parameter_slot& slot) {
  return slot.model != 0 && slot.storage != kernels::weight_storage::split;
}

/// The bits of a weight in FP32 whose upper half is the model.
inline std::uint32_t joined(std::uint16_t upper, std::uint16_t lower) {
  return kernels::joined_halves<std::uint32_t>(upper, lower);
}

/// Views; valid as long as the optimizer.
struct optimizer_parts {
  const syclamp::engine& engine;
  const optimizer_rule& rule;
  const storage_options& storage;
  std::span<const parameter> parameters;
  std::span<const kernels::parameter_slot> slots;  ///< one per parameter
  std::vector<kernels::parameter_group>& host_groups;

  // In device memory.
  kernels::parameter_group* groups;
  kernels::optimizer_memory* memory;
  kernels::tensor_norms* of_tensors;  ///< null unless the step depends on norms

  const step_progress& progress;

  std::uint64_t count(std::size_t index) const { return parameters[index].gradient.count(); }
};

}  // namespace SYCLAMP_NAMESPACE
