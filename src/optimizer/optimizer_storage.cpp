// SPDX-License-Identifier: Apache-2.0
#include "optimizer/optimizer_storage.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "engine/recording.hpp"
#include "optimizer/optimizer_parts.hpp"
#include "syclamp/error.hpp"
#include "tensors/address_checks.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

using kernels::max_states;
using kernels::parameter_slot;
using kernels::weight_storage;

/// Kernels know tensors by addresses that are integers.
void* pointer_to(std::uint64_t address) { return std::bit_cast<void*>(address); }
std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// Rows of the arena: weights, then moments, then unscaled gradients.
constexpr std::size_t weight_row = 0, first_state_row = 1, shadow_row = 1 + max_states, arena_rows = shadow_row + 1;

void check_parameter(std::size_t index, const parameter& checked, const storage_options& options) {
  const auto who = described(index, checked.name);
  const auto count = checked.gradient.count();
  if (!kernels::is_among<gradient_types>(checked.gradient.type()))
    throw invalid_argument(fmt::format("optimizer: the gradient of {} is {}; it must be float16, bfloat16 or float32",
                                       who, to_string(checked.gradient.type())));
  const bool has_model = checked.model.data() != nullptr, has_master = checked.master.data() != nullptr;
  if (!has_model && !has_master && count != 0)
    throw invalid_argument(fmt::format("optimizer: {} has no weights; pass a model, a master, or both", who));
  if ((has_model && checked.model.count() != count) || (has_master && checked.master.count() != count))
    throw invalid_argument(fmt::format(
        "optimizer: {} has {} gradients, but its model has {} and its master {} elements; all must have the same size",
        who, count, checked.model.count(), checked.master.count()));
  if (has_model && checked.model.type() == element_type::float64)
    throw invalid_argument(
        fmt::format("optimizer: the model of {} is float64, which syclamp does not write; use float32", who));
  if (has_master && checked.master.type() != element_type::float32)
    throw invalid_argument(
        fmt::format("optimizer: the master of {} is {}; it must be float32", who, to_string(checked.master.type())));
  if (options.remainders && has_master && has_model && checked.model.type() == element_type::bfloat16)
    throw invalid_argument(
        fmt::format("optimizer: {} has a master, but with `remainders` the model is the upper half of the master; pass "
                    "the model only",
                    who));
}

void check_options(const storage_options& options) {
  if (options.moments != element_type::float32 && options.moments != element_type::bfloat16)
    throw invalid_argument(fmt::format("optimizer: storage_options::moments is {}; it must be float32 or bfloat16",
                                       to_string(options.moments)));
}

bool is_split(const parameter& stored, const storage_options& options) {
  return options.remainders && stored.model.data() != nullptr && stored.model.type() == element_type::bfloat16;
}

/// The loop that kernels have for this storage.
weight_storage storage_of(const parameter_slot& slot, bool split, const storage_options& options) {
  if (split)
    return weight_storage::split;  // weights are exact, so only moments are rounded, and kernels read their type
  if (options.moments != element_type::float32 || options.rounding_mode != rounding::to_nearest)
    return weight_storage::other;
  if (slot.model == 0) return weight_storage::master;
  if (slot.model_type == element_type::float16) return weight_storage::master_and_fp16;
  if (slot.model_type == element_type::bfloat16) return weight_storage::master_and_bf16;
  return weight_storage::other;
}

}  // namespace

optimizer_storage::optimizer_storage(const engine& owner, std::vector<parameter> parameters,
                                     const storage_options& options, const optimizer_rule& rule)
    : engine_(owner),
      parameters_(std::move(parameters)),
      options_((check_options(options), options)),
      states_(rule.states()),
      gradients_(engine_, gradient_tensors()),
      arena_(arena_rows) {
  place_streams();
  weights_.emplace(engine_, weight_tensors());
  const tensor_list models(engine_, model_tensors());  // checks their addresses
  check_states();
  memory_map_ = optimizer_memory_map(parts());
  memory_map_.check_within();
  memory_map_.check_gradients(gradients_, true);
  if (options_.unscaled_shadow) shadow_.emplace(engine_, shadow_tensors());
  shadow_version_ = gradients_.prepared().version;
  initialise(rule);
}

// --- Lists of tensors ---

std::vector<tensor> optimizer_storage::gradient_tensors() const {
  std::vector<tensor> tensors;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    check_parameter(i, parameters_[i], options_);
    tensors.push_back({.data = parameters_[i].gradient,
                       .name = parameters_[i].name,
                       .group = parameters_[i].group,
                       .replicated = parameters_[i].replicated});
  }
  return tensors;
}

std::vector<tensor> optimizer_storage::weight_tensors() const {
  std::vector<tensor> tensors;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const auto type = slots_[i].storage == weight_storage::split ? element_type::bfloat16 : element_type::float32;
    tensors.push_back({{pointer_to(slots_[i].weights), type}, parameters_[i].gradient.count(), parameters_[i].name});
  }
  return tensors;
}

std::vector<tensor> optimizer_storage::model_tensors() const {
  std::vector<tensor> tensors;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    tensors.push_back(
        {{pointer_to(slots_[i].model), slots_[i].model_type}, parameters_[i].gradient.count(), parameters_[i].name});
  return tensors;
}

std::vector<tensor> optimizer_storage::shadow_tensors() const {
  std::vector<tensor> tensors;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    tensors.push_back({{shadows_[i], element_type::float32},
                       parameters_[i].gradient.count(),
                       parameters_[i].name,
                       parameters_[i].group,
                       parameters_[i].replicated});
  return tensors;
}

array_view optimizer_storage::state(std::size_t parameter, std::uint32_t index) const {
  return {pointer_to(slots_[parameter].states[index]), parameters_[parameter].gradient.count(), options_.moments};
}

// --- Memory ---

/// Allocates what the caller has not given, and fills the table.
void optimizer_storage::place_streams() {
  struct places {
    std::optional<skewed_arena::place> weights, states[max_states], shadow;
  };
  std::vector<places> owned(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const parameter& stored = parameters_[i];
    const std::uint64_t count = stored.gradient.count();
    const bool split = is_split(stored, options_);
    const bool is_own_master = !split && stored.model.type() == element_type::float32 && stored.model.data() != nullptr;
    if (split || (stored.master.data() == nullptr && !is_own_master))
      owned[i].weights = arena_.reserve(weight_row, count * (split ? 2 : 4));
    for (std::uint32_t k = 0; k < states_; ++k)
      if (stored.states[k] == nullptr)
        owned[i].states[k] = arena_.reserve(first_state_row + k, count * bytes_per_element(options_.moments));
    if (options_.unscaled_shadow && stored.gradient.type() != element_type::float32)
      owned[i].shadow = arena_.reserve(shadow_row, count * sizeof(float));
  }
  const command_queue queue(engine_);
  arena_.allocate(queue);
  queue.memset(arena_.data(), 0, arena_.bytes());

  slots_.resize(parameters_.size());
  shadows_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const parameter& stored = parameters_[i];
    for (std::uint32_t k = 0; k < states_; ++k)
      slots_[i].states[k] = address_of(owned[i].states[k] ? arena_.at(*owned[i].states[k]) : stored.states[k]);
    fill_slot(i, owned[i].weights ? arena_.at(*owned[i].weights) : nullptr);
    shadows_[i] = owned[i].shadow ? arena_.at(*owned[i].shadow) : stored.gradient.data();
  }
  device_slots_ = allocate_on_device<parameter_slot>(queue, slots_.size());
  if (!slots_.empty()) queue.memcpy(device_slots_.get(), slots_.data(), slots_.size() * sizeof slots_[0]);
}

/// \param own_weights  in the arena; null: the caller's master, or a model in FP32, which is its own master
void optimizer_storage::fill_slot(std::size_t index, const std::byte* own_weights) {
  const parameter& stored = parameters_[index];
  parameter_slot& slot = slots_[index];
  slot.model_type = stored.model.type();
  slot.state_type = options_.moments;
  slot.model = address_of(stored.model.data());
  if (own_weights != nullptr) {
    slot.weights = address_of(own_weights);
  } else if (stored.master.data() != nullptr) {
    slot.weights = address_of(stored.master.data());
  } else {
    slot.weights = slot.model;
    slot.model = 0;
  }
  if (slot.weights == slot.model && stored.model.type() == element_type::float32) slot.model = 0;
  slot.storage = storage_of(slot, is_split(stored, options_), options_);
}

/// Masters that the library keeps begin with the model; a model beside a given master is a copy of it from the start.
void optimizer_storage::initialise(const optimizer_rule& rule) {
  std::vector<tensor> sources, targets;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const parameter& stored = parameters_[i];
    for (std::uint32_t k = 0; k < states_; ++k)
      if (rule.initial[k] != 0.0f && stored.states[k] == nullptr) fill_state(state(i, k), rule.initial[k]);
    if (!has_copy(slots_[i])) continue;
    const array_view master = weights_->writable(i);
    sources.push_back({.data = stored.master.data() != nullptr ? master : stored.model, .name = stored.name});
    targets.push_back({.data = stored.master.data() != nullptr ? stored.model : master, .name = stored.name});
  }
  if (!sources.empty()) cast(tensor_list(engine_, sources), tensor_list(engine_, targets));
}

void optimizer_storage::fill_state(const array_view& state, float value) const {
  if (state.count() == 0) return;
  if (state.type() == element_type::float32) {
    command_queue(engine_).fill(static_cast<float*>(state.data()), value, state.count());
  } else {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto nearest = static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    command_queue(engine_).fill(static_cast<std::uint16_t*>(state.data()), nearest, state.count());
  }
}

std::vector<float> optimizer_storage::read_weights(std::size_t parameter) const {
  const parameter_slot& slot = slots_[parameter];
  const std::uint64_t count = parameters_[parameter].gradient.count();
  std::vector<float> values(count);
  const command_queue queue(engine_);
  need_no_recording(queue);
  if (count == 0) return values;
  if (slot.storage != weight_storage::split) {
    queue.memcpy(values.data(), pointer_to(slot.weights), count * sizeof(float));
    engine_.wait();
    return values;
  }
  std::vector<std::uint16_t> upper(count), lower(count);
  queue.memcpy(upper.data(), pointer_to(slot.model), count * 2);
  queue.memcpy(lower.data(), pointer_to(slot.weights), count * 2);
  engine_.wait();
  for (std::uint64_t i = 0; i < count; ++i) values[i] = std::bit_cast<float>(joined(upper[i], lower[i]));
  return values;
}

// --- Checks ---

memory_parts optimizer_storage::parts() const {
  const std::uint64_t base = address_of(arena_.data());
  const std::uint64_t shadow_begin = address_of(arena_.row(shadow_row));
  return {parameters_, slots_, options_, states_, {base, shadow_begin, 0}, {shadow_begin, base + arena_.bytes(), 0},
          shadows_};
}

/// Addresses of moments that the caller gives.
void optimizer_storage::check_states() const {
  address_checks checks(engine_.queue(), 0);
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    for (std::uint32_t k = 0; k < states_; ++k) {
      const std::uint64_t address = address_of(parameters_[i].states[k]);
      if (address % bytes_per_element(options_.moments) != 0)
        refuse_alignment(i, parameters_[i].name, parameters_[i].states[k], options_.moments);
      if (!checks.is_known(address)) checks.ask(i, parameters_[i].name, address);
    }
}

void optimizer_storage::check_list(const tensor_list& list) {
  const std::uint64_t id = list.prepared().id;
  if (id == gradients_.prepared().id) return memory_map_.check_gradients(list, true);
  if (shadow_ && id == shadow_->prepared().id) return memory_map_.check_gradients(gradients_, true);
  if (memory_map_.has_seen(list)) return;
  check_sizes("optimizer", list, *weights_);
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!kernels::is_among<gradient_types>(list[i].type()) || list.group(i) != gradients_.group(i))
      throw invalid_argument(
          fmt::format("optimizer: {} is {} in group {}; gradients must be float16, bfloat16 or float32, in the group "
                      "of their parameter, {}",
                      described(list, i), to_string(list[i].type()), list.group(i), gradients_.group(i)));
  memory_map_.check_gradients(list, false);
}

const tensor_list& optimizer_storage::unscaled_gradients() {
  check_list(gradients_);  // before unscaling writes to memory that overlaps
  if (!shadow_ && gradients_.is_all(element_type::float32)) return gradients_;
  if (!shadow_)
    throw misuse_error(
        "optimizer: 16-bit gradients cannot be unscaled in place; make the optimizer with "
        "storage_options::unscaled_shadow = true, or let step() unscale them");
  const std::uint64_t version = gradients_.prepared().version;
  if (version == shadow_version_) return *shadow_;
  // Gradients in FP32 are unscaled in place, so the shadow follows their addresses.
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].gradient.type() == element_type::float32) shadow_->set_address(i, gradients_.writable(i).data());
  shadow_version_ = version;
  return *shadow_;
}

}  // namespace SYCLAMP_NAMESPACE
