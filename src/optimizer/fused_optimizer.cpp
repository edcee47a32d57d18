// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "engine/device_memory.hpp"
#include "engine/process_exit.hpp"
#include "launch/kernel_library.hpp"
#include "optimizer/optimizer_memory_map.hpp"
#include "optimizer/optimizer_parts.hpp"
#include "optimizer/optimizer_rules.hpp"
#include "optimizer/skewed_arena.hpp"
#include "syclamp/error.hpp"
#include "syclamp/optimizers.hpp"
#include "tensors/address_checks.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"

namespace syclamp {
namespace {

/// Kernels know tensors by addresses that are integers.
const void* pointer_to(std::uint64_t address) { return std::bit_cast<const void*>(address); }

using kernels::most_states;
using kernels::parameter_group;
using kernels::parameter_slot;
using kernels::weight_storage;

bool is_gradient_type(element_type type) {
  return std::find(std::begin(gradient_types), std::end(gradient_types), type) != std::end(gradient_types);
}

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

void check_parameter(std::size_t index, const parameter& one, const storage_options& storage) {
  const auto who = described(index, one.name);
  const auto count = one.gradient.count();
  if (!is_gradient_type(one.gradient.type()))
    throw invalid_argument(fmt::format("optimizer: the gradient of {} is {}; it must be float16, bfloat16 or float32",
                                       who, name_of(one.gradient.type())));
  const bool has_model = one.model.data() != nullptr, has_master = one.master.data() != nullptr;
  if (!has_model && !has_master && count != 0)
    throw invalid_argument(fmt::format("optimizer: {} has no weights; give it a model, or a master, or both", who));
  if ((has_model && one.model.count() != count) || (has_master && one.master.count() != count))
    throw invalid_argument(fmt::format("optimizer: {} has {} gradients, but a model of {} and a master of {} weights",
                                       who, count, one.model.count(), one.master.count()));
  if (has_model && one.model.type() == element_type::float64)
    throw invalid_argument(
        fmt::format("optimizer: the model of {} is float64, which is never written; use float32", who));
  if (has_master && one.master.type() != element_type::float32)
    throw invalid_argument(
        fmt::format("optimizer: the master of {} is {}; it must be float32", who, name_of(one.master.type())));
  if (storage.remainders && has_master && has_model && one.model.type() == element_type::bfloat16)
    throw invalid_argument(
        fmt::format("optimizer: {} has a master, but with `remainders` the model is a part of it; give "
                    "the model only",
                    who));
}

bool is_split(const parameter& one, const storage_options& storage) {
  return storage.remainders && one.model.data() != nullptr && one.model.type() == element_type::bfloat16;
}

/// If kernels have a loop of their own for this storage, which.
weight_storage storage_of(const parameter_slot& slot, bool split, const storage_options& storage) {
  if (split) return weight_storage::split;  // exact, so nothing is rounded but moments, whose type kernels ask
  if (storage.moments != element_type::float32 || storage.how != rounding::to_nearest) return weight_storage::other;
  if (slot.model == 0) return weight_storage::master;
  if (slot.model_type == element_type::float16) return weight_storage::master_and_half;
  if (slot.model_type == element_type::bfloat16) return weight_storage::master_and_brain;
  return weight_storage::other;
}

}  // namespace

struct fused_optimizer::state_type {
  state_type(const engine& on_engine, std::vector<parameter> given, const std::vector<optimizer_settings>& settings,
             const storage_options& stored)
      : on(on_engine),
        parameters(std::move(given)),
        storage(stored),
        rule(first_rule(settings)),
        gradients(on, gradient_tensors()),
        arena(1 + most_states + 1) {
    check_settings(settings);
    on.kernels().prepare(*rule.step);
    place_streams();
    fill_groups(settings);
    weights.emplace(on, weight_tensors());
    const tensor_list models(on, model_tensors());  // checks their addresses
    check_moments();
    memory_map = optimizer_memory_map(parts());
    memory_map.check_within();
    memory_map.check_gradients(gradients, true);
    if (rule.pieces != nullptr) {
      of_pieces = allocate_on_device<kernels::piece_norms>(on.queue(), gradients.prepared().chunks + gradients.size());
      of_tensors = allocate_on_device<kernels::tensor_norms>(on.queue(), gradients.size());
      on.queue().memset(of_tensors.get(), 0, gradients.size() * sizeof(kernels::tensor_norms));
    }
    if (storage.unscaled_shadow) shadow.emplace(on, shadow_tensors());
    shadow_version = gradients.prepared().version;
    begin();
    on.wait();
  }

  static optimizer_rule first_rule(const std::vector<optimizer_settings>& settings) {
    if (settings.empty()) throw invalid_argument("optimizer: there are no settings; give one for each group");
    return rule_of(settings.front());
  }

  void check_settings(const std::vector<optimizer_settings>& settings) const {
    if (storage.moments != element_type::float32 && storage.moments != element_type::bfloat16)
      throw invalid_argument(
          fmt::format("optimizer: moments in {} are not possible; use float32 or bfloat16", name_of(storage.moments)));
    for (std::size_t i = 0; i < settings.size(); ++i)
      if (const auto other = rule_of(settings[i]); other.name != rule.name || other.step != rule.step)
        throw invalid_argument(fmt::format(
            "optimizer: the settings of group {} need another kernel ({}) than those of group 0 ({}); make an "
            "optimizer for each",
            i, other.step->name, rule.step->name));
    if (settings.size() > 1 && gradients.groups() > settings.size())
      throw invalid_argument(
          fmt::format("optimizer: there is a parameter in group {}, but there are settings for {} groups",
                      gradients.groups() - 1, settings.size()));
  }

  std::vector<tensor> gradient_tensors() const {
    std::vector<tensor> tensors;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      check_parameter(i, parameters[i], storage);
      tensors.push_back({parameters[i].gradient, parameters[i].name, parameters[i].group});
    }
    return tensors;
  }

  // --- Storage ------------------------------------------------------------------------------------------------------

  /// Rows of the arena: weights, then moments, then unscaled gradients.
  void place_streams() {
    struct places {
      std::optional<skewed_arena::place> weights, states[most_states], shadow;
    };
    std::vector<places> owned(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const parameter& one = parameters[i];
      const std::uint64_t count = one.gradient.count();
      const bool split = is_split(one, storage);
      const bool is_own_master = !split && one.model.type() == element_type::float32 && one.model.data() != nullptr;
      if (split || (one.master.data() == nullptr && !is_own_master))
        owned[i].weights = arena.reserve(0, count * (split ? 2 : 4));
      for (std::uint32_t k = 0; k < rule.states(); ++k)
        if (one.states[k] == nullptr) owned[i].states[k] = arena.reserve(1 + k, count * size_of(storage.moments));
      if (storage.unscaled_shadow && one.gradient.type() != element_type::float32)
        owned[i].shadow = arena.reserve(1 + most_states, count * sizeof(float));
    }
    arena.allocate(on.queue());
    on.queue().memset(arena.data(), 0, arena.bytes());

    slots.resize(parameters.size());
    shadows.resize(parameters.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const parameter& one = parameters[i];
      parameter_slot& slot = slots[i];
      const bool split = is_split(one, storage);
      slot = {};
      slot.model_type = one.model.type();
      slot.state_type = storage.moments;
      slot.model = address_of(one.model.data());
      if (owned[i].weights) {
        slot.weights = address_of(arena.at(*owned[i].weights));
      } else if (one.master.data() != nullptr) {
        slot.weights = address_of(one.master.data());
      } else {
        slot.weights = slot.model;
        slot.model = 0;
      }
      if (slot.weights == slot.model && one.model.type() == element_type::float32) slot.model = 0;
      for (std::uint32_t k = 0; k < rule.states(); ++k)
        slot.states[k] = address_of(owned[i].states[k] ? arena.at(*owned[i].states[k]) : one.states[k]);
      slot.storage = storage_of(slot, split, storage);
      shadows[i] = owned[i].shadow ? arena.at(*owned[i].shadow) : one.gradient.data();
    }
    device_slots = allocate_on_device<parameter_slot>(on.queue(), slots.size());
    if (!slots.empty()) on.queue().memcpy(device_slots.get(), slots.data(), slots.size() * sizeof slots[0]);
  }

  void fill_groups(const std::vector<optimizer_settings>& settings) {
    host_groups.resize(std::max<std::size_t>({settings.size(), gradients.groups(), 1}));
    for (std::size_t i = 0; i < host_groups.size(); ++i)
      host_groups[i] = {rule_of(settings[settings.size() == 1 ? 0 : i]).hyper, {}, 0, 0};
    sycl::queue& queue = on.queue();
    device_groups = allocate_on_device<parameter_group>(queue, host_groups.size());
    memory = allocate_on_device<kernels::optimizer_memory>(queue, 1);
    certain = allocate_on_device<step_decision>(queue, 1);
    const kernels::optimizer_memory all{static_cast<std::uint32_t>(host_groups.size()), 0,
                                        storage.how == rounding::stochastic ? 1u : 0u, 0, storage.seed};
    const step_decision yes;
    queue.memcpy(device_groups.get(), host_groups.data(), host_groups.size() * sizeof host_groups[0]);
    queue.memcpy(memory.get(), &all, sizeof all);
    queue.memcpy(certain.get(), &yes, sizeof yes);
    queue.wait();
  }

  /// Masters that the library keeps begin with the model; a model beside a given master is a copy of it from the start.
  void begin() {
    std::vector<tensor> from, to;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const parameter& one = parameters[i];
      const parameter_slot& slot = slots[i];
      for (std::uint32_t k = 0; k < rule.states(); ++k)
        if (rule.initial[k] != 0.0f && one.states[k] == nullptr) fill_state(state(i, k), rule.initial[k]);
      if (!has_copy(slot)) continue;
      const array_view master = (*weights)[i];
      from.push_back({one.master.data() != nullptr ? master : one.model, one.name});
      to.push_back({one.master.data() != nullptr ? one.model : master, one.name});
    }
    if (!from.empty()) cast(tensor_list(on, from), tensor_list(on, to));
  }

  void fill_state(const array_view& of, float value) const {
    auto* data = const_cast<void*>(of.data());
    if (of.count() == 0) return;
    if (of.type() == element_type::float32) {
      on.queue().fill(static_cast<float*>(data), value, of.count());
    } else {
      const auto bits = std::bit_cast<std::uint32_t>(value);  // to nearest, as far as 16 bits go
      on.queue().fill(static_cast<std::uint16_t*>(data),
                      static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16), of.count());
    }
  }

  // --- Lists: what a step writes, checked against what it reads ------------------------------------------------------

  memory_parts parts() const {
    const std::uint64_t base = address_of(arena.data());
    const std::uint64_t shadow_begin = address_of(arena.row(1 + most_states));
    return {parameters, slots, storage, rule.states(), {base, shadow_begin, 0}, {shadow_begin, base + arena.bytes(), 0},
            shadows};
  }

  /// Addresses of moments that the caller gives.
  void check_moments() const {
    address_checks checks(on.queue(), 0);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      for (std::uint32_t k = 0; k < rule.states(); ++k) {
        const std::uint64_t address = address_of(parameters[i].states[k]);
        if (address % size_of(storage.moments) != 0)
          refuse_alignment(i, parameters[i].name, parameters[i].states[k], storage.moments);
        if (!checks.is_known(address)) checks.ask(i, parameters[i].name, address);
      }
  }

  /// Gradients in FP32 are unscaled where they are, so the shadow goes where they go.
  const tensor_list& current_shadow() {
    const std::uint64_t version = gradients.prepared().version;
    if (version == shadow_version) return *shadow;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].gradient.type() == element_type::float32) shadow->set_address(i, gradients[i].data());
    shadow_version = version;
    return *shadow;
  }

  array_view weight_view(std::size_t i) const {
    const bool split = slots[i].storage == weight_storage::split;
    return {pointer_to(slots[i].weights), parameters[i].gradient.count(),
            split ? element_type::bfloat16 : element_type::float32};
  }

  array_view state(std::size_t i, std::uint32_t k) const {
    return {pointer_to(slots[i].states[k]), parameters[i].gradient.count(), storage.moments};
  }

  std::vector<tensor> weight_tensors() const {
    std::vector<tensor> tensors;
    for (std::size_t i = 0; i < slots.size(); ++i) tensors.push_back({weight_view(i), parameters[i].name});
    return tensors;
  }

  std::vector<tensor> model_tensors() const {
    std::vector<tensor> tensors;
    for (std::size_t i = 0; i < slots.size(); ++i)
      tensors.push_back(
          {{pointer_to(slots[i].model), parameters[i].gradient.count(), slots[i].model_type}, parameters[i].name});
    return tensors;
  }

  std::vector<tensor> shadow_tensors() const {
    std::vector<tensor> tensors;
    for (std::size_t i = 0; i < slots.size(); ++i)
      tensors.push_back({{shadows[i], parameters[i].gradient.count(), element_type::float32},
                         parameters[i].name,
                         parameters[i].group});
    return tensors;
  }

  // --- A step -------------------------------------------------------------------------------------------------------

  sycl::event apply(const tensor_list& list, const step_decision* decisions, bool per_group) {
    check_given("optimizer", "decisions", decisions);
    check_list(list);
    const auto& table = list.prepared();
    launch::kernel_library& library = on.kernels();
    // One work-group at least, to count the step.
    const auto groups = std::max<std::uint64_t>(1, library.groups_for(*rule.step, table.chunks));
    const std::uint32_t stride = per_group ? 1 : 0;
    if (rule.pieces != nullptr && table.tensors != 0) {
      library.submit(on.queue(), *rule.pieces, groups, table.addresses, table.starts, table.kinds, table.tensors,
                     device_slots.get(), device_groups.get(), memory.get(), decisions, stride, of_pieces.get());
      library.submit(on.queue(), *rule.norms, library.groups_for(*rule.norms, table.tensors), table.addresses,
                     table.starts, table.kinds, table.tensors, device_groups.get(), decisions, stride, of_pieces.get(),
                     of_tensors.get());
    }
    return library.submit(on.queue(), *rule.step, groups, table.addresses, table.starts, table.kinds, table.tensors,
                          device_slots.get(), device_groups.get(), memory.get(), decisions, stride, of_tensors.get());
  }

  /// Costs next to nothing while the addresses stay as they are.
  void check_list(const tensor_list& list) {
    const std::uint64_t id = list.prepared().id;
    if (id == gradients.prepared().id) return memory_map.check_gradients(list, true);
    if (shadow && id == shadow->prepared().id) return memory_map.check_gradients(gradients, true);
    if (memory_map.has_seen(list)) return;
    check_sizes("optimizer", list, *weights);
    for (std::size_t i = 0; i < list.size(); ++i)
      if (!is_gradient_type(list[i].type()) || list.group(i) != gradients.group(i))
        throw invalid_argument(fmt::format(
            "optimizer: {} is {} in group {}; gradients must be float16, bfloat16 or float32, in the group of "
            "their parameter ({})",
            described(list, i), name_of(list[i].type()), list.group(i), gradients.group(i)));
    memory_map.check_gradients(list, false);
  }

  /// Learning rates may be computed on the device from now on: steps have to check them.
  void expect_device_rates() {
    on.kernels().prepare(launch::check_rates);
    has_device_rates = true;
  }

  // --- Hyper-parameters: the queue fills in the words of the device's record that change -----------------------------

  void check_group(std::uint32_t group) const {
    if (group >= host_groups.size())
      throw invalid_argument(fmt::format("optimizer: there is no group {}; it has {}", group, host_groups.size()));
  }

  void send(std::uint32_t group, const parameter_group& next) {
    need_no_settings_recorded(on.queue());
    constexpr std::size_t words = offsetof(parameter_group, applied) / sizeof(std::uint32_t);
    std::array<std::uint32_t, words> before, after;
    std::memcpy(before.data(), &host_groups[group], sizeof before);
    std::memcpy(after.data(), &next, sizeof after);
    auto* target = reinterpret_cast<std::uint32_t*>(device_groups.get() + group);
    for (std::size_t i = 0; i < words; ++i)
      if (before[i] != after[i]) on.queue().fill(target + i, after[i], 1);
    host_groups[group] = next;
  }

  engine on;
  std::vector<parameter> parameters;
  storage_options storage;
  optimizer_rule rule;
  tensor_list gradients;
  skewed_arena arena;
  std::vector<parameter_slot> slots;
  std::vector<const void*> shadows;
  std::vector<parameter_group> host_groups;
  device_array<parameter_slot> device_slots;
  device_array<parameter_group> device_groups;
  device_array<kernels::optimizer_memory> memory;
  device_array<step_decision> certain;
  device_array<kernels::piece_norms> of_pieces;    ///< only if the step depends on norms
  device_array<kernels::tensor_norms> of_tensors;  ///< likewise
  std::optional<tensor_list> weights, shadow;
  std::uint64_t shadow_version = 0;  ///< of the gradients' addresses that the shadow follows
  optimizer_memory_map memory_map;
  bool has_device_rates = false;
};

fused_optimizer::fused_optimizer(const engine& on, std::vector<parameter> parameters,
                                 const optimizer_settings& settings, const storage_options& storage)
    : fused_optimizer(on, std::move(parameters), std::vector{settings}, storage) {}

fused_optimizer::fused_optimizer(const engine& on, std::vector<parameter> parameters,
                                 const std::vector<optimizer_settings>& settings, const storage_options& storage)
    : state_(std::make_unique<state_type>(on, std::move(parameters), settings, storage)) {}

fused_optimizer::~fused_optimizer() {
  if (is_runtime_gone()) leave_to_exit(state_);
}

const tensor_list& fused_optimizer::gradients() const { return state_->gradients; }

const tensor_list& fused_optimizer::unscaled_gradients() const {
  state_->check_list(state_->gradients);  // before anything is unscaled where it must not be
  if (state_->shadow) return state_->current_shadow();
  if (state_->gradients.is_all(element_type::float32)) return state_->gradients;
  throw misuse_error(
      "optimizer: gradients in 16 bits cannot be unscaled in place; make the optimizer with "
      "storage_options::unscaled_shadow, or leave unscaling to the step");
}

bool fused_optimizer::check_numbers(std::uint32_t* invalid_numbers) {
  if (!state_->has_device_rates) return false;
  state_->on.kernels().submit(state_->on.queue(), launch::check_rates, 1, state_->device_groups.get(), groups(),
                              invalid_numbers);
  return true;
}

sycl::event fused_optimizer::apply(const step_inputs& inputs) {
  return state_->apply(inputs.gradients, inputs.decisions, inputs.per_group);
}

sycl::event fused_optimizer::apply() { return state_->apply(state_->gradients, state_->certain.get(), false); }

void fused_optimizer::set_lr(double lr, std::uint32_t group) {
  state_->check_group(group);
  parameter_group next = state_->host_groups[group];
  next.hyper.lr = checked_lr(state_->rule.name, lr);
  state_->send(group, next);
}

void fused_optimizer::set_lr(double lr) {
  for (std::uint32_t i = 0; i < groups(); ++i) set_lr(lr, i);
}

void fused_optimizer::set_lr_source(const float* lr, std::uint32_t group) {
  state_->check_group(group);
  parameter_group next = state_->host_groups[group];
  next.lr = address_of(lr);
  if (lr != nullptr) state_->expect_device_rates();
  state_->send(group, next);
}

void fused_optimizer::set_lr_source(const float* lr) {
  for (std::uint32_t i = 0; i < groups(); ++i) set_lr_source(lr, i);
}

void fused_optimizer::set(const optimizer_settings& settings, std::uint32_t group) {
  state_->check_group(group);
  const optimizer_rule rule = rule_of(settings);
  if (rule.name != state_->rule.name || rule.step != state_->rule.step)
    throw invalid_argument(
        fmt::format("optimizer: these settings need another kernel ({}) than it was made with ({}); make "
                    "a new optimizer",
                    rule.step->name, state_->rule.step->name));
  parameter_group next = state_->host_groups[group];
  next.hyper = rule.hyper;
  state_->send(group, next);
}

void fused_optimizer::set_schedule(const lr_schedule& schedule) {
  check(schedule);
  for (std::uint32_t i = 0; i < groups(); ++i) {
    parameter_group next = state_->host_groups[i];
    next.schedule = schedule;
    state_->send(i, next);
  }
}

hyper_parameters* fused_optimizer::device_hyper_parameters(std::uint32_t group) const {
  state_->check_group(group);
  state_->expect_device_rates();
  return &state_->device_groups[group].hyper;
}

const std::uint64_t* fused_optimizer::device_steps(std::uint32_t group) const {
  state_->check_group(group);
  return &state_->device_groups[group].applied;
}

std::uint64_t fused_optimizer::steps(std::uint32_t group) const {
  std::uint64_t applied = 0;
  need_no_recording(state_->on.queue());
  state_->on.queue().memcpy(&applied, device_steps(group), sizeof applied).wait();
  return applied;
}

std::size_t fused_optimizer::size() const { return state_->parameters.size(); }
std::uint32_t fused_optimizer::groups() const { return static_cast<std::uint32_t>(state_->host_groups.size()); }
std::uint32_t fused_optimizer::states() const { return state_->rule.states(); }
std::uint64_t fused_optimizer::device_bytes() const { return state_->arena.bytes(); }
const engine& fused_optimizer::on() const { return state_->on; }

array_view fused_optimizer::state(std::size_t parameter, std::uint32_t index) const {
  if (parameter >= size() || index >= states())
    throw invalid_argument(fmt::format("optimizer: there is no moment {} of parameter {}; it has {} of {} parameters",
                                       index, parameter, states(), size()));
  return state_->state(parameter, index);
}

std::vector<float> fused_optimizer::weights(std::size_t parameter) const {
  if (parameter >= size())
    throw invalid_argument(fmt::format("optimizer: there is no parameter {}; it has {}", parameter, size()));
  const parameter_slot& slot = state_->slots[parameter];
  const std::uint64_t count = state_->parameters[parameter].gradient.count();
  std::vector<float> values(count);
  sycl::queue& queue = state_->on.queue();
  need_no_recording(queue);
  if (count == 0) return values;
  if (slot.storage != weight_storage::split) {
    queue.memcpy(values.data(), pointer_to(slot.weights), count * sizeof(float)).wait();
    return values;
  }
  std::vector<std::uint16_t> upper(count), lower(count);
  queue.memcpy(upper.data(), pointer_to(slot.model), count * 2);
  queue.memcpy(lower.data(), pointer_to(slot.weights), count * 2).wait();
  for (std::uint64_t i = 0; i < count; ++i) values[i] = std::bit_cast<float>(joined(upper[i], lower[i]));
  return values;
}

optimizer_parts optimizer_access::of(const fused_optimizer& one) {
  auto& own = *one.state_;
  return {own.on,
          own.rule,
          own.storage,
          own.parameters,
          own.slots,
          own.host_groups,
          own.device_groups.get(),
          own.memory.get(),
          own.of_tensors.get()};
}

}  // namespace syclamp
