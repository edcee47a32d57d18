// SPDX-License-Identifier: Apache-2.0
// Where an optimizer's parameters live: the caller's tensors, the library's own memory, and the table of both that
// kernels read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/device_memory.hpp"
#include "optimizer/optimizer_memory_map.hpp"
#include "optimizer/optimizer_rules.hpp"
#include "optimizer/skewed_arena.hpp"
#include "sycl_kernels/shared/optimizer_layout.hpp"
#include "syclamp/export.hpp"
#include "syclamp/fused_optimizer.hpp"

namespace SYCLAMP_NAMESPACE {

class optimizer_storage {
 public:
  /// Checks the parameters, allocates what they lack, and fills it. May return before that is done.
  /// \throws invalid_argument that names the parameter, its value and the remedy
  optimizer_storage(const engine& owner, std::vector<parameter> parameters, const storage_options& options,
                    const optimizer_rule& rule);

  std::span<const parameter> parameters() const { return parameters_; }
  const storage_options& options() const { return options_; }
  std::span<const kernels::parameter_slot> slots() const { return slots_; }  ///< one per parameter
  const kernels::parameter_slot* device_slots() const { return device_slots_.get(); }
  const tensor_list& gradients() const { return gradients_; }
  std::uint64_t device_bytes() const { return arena_.bytes(); }

  /// The list that unscaled gradients are written to, with its present addresses.
  /// \throws misuse_error if there is no such list
  const tensor_list& unscaled_gradients();

  /// The list can be applied: it has the sizes, types and groups of the parameters, and overlaps nothing that a step
  /// writes. Costs next to nothing while the addresses stay as they are.
  void check_list(const tensor_list& list);

  array_view state(std::size_t parameter, std::uint32_t index) const;

  /// The weights in FP32, whatever their storage. Waits.
  std::vector<float> read_weights(std::size_t parameter) const;

 private:
  std::vector<tensor> gradient_tensors() const;
  std::vector<tensor> weight_tensors() const;
  std::vector<tensor> model_tensors() const;
  std::vector<tensor> shadow_tensors() const;
  void place_streams();
  void fill_slot(std::size_t index, const std::byte* own_weights);
  void check_states() const;
  memory_parts parts() const;
  void initialise(const optimizer_rule& rule);
  void fill_state(const array_view& state, float value) const;

  engine engine_;
  std::vector<parameter> parameters_;
  storage_options options_;
  std::uint32_t states_;  ///< moments of each parameter
  tensor_list gradients_;
  skewed_arena arena_;
  std::vector<kernels::parameter_slot> slots_;
  std::vector<void*> shadows_;
  usm_array<kernels::parameter_slot> device_slots_;
  std::optional<tensor_list> weights_, shadow_;
  std::uint64_t shadow_version_ = 0;  ///< of the gradients' addresses that the shadow follows
  optimizer_memory_map memory_map_;
};

}  // namespace SYCLAMP_NAMESPACE
