// SPDX-License-Identifier: Apache-2.0
#include "syclamp/fused_optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "engine/process_exit.hpp"
#include "engine/recording.hpp"
#include "launch/kernel_library.hpp"
#include "optimizer/optimizer_parts.hpp"
#include "optimizer/optimizer_rules.hpp"
#include "optimizer/optimizer_storage.hpp"
#include "optimizer/step_progress.hpp"
#include "syclamp/error.hpp"
#include "syclamp/gradients.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

using kernels::parameter_group;

/// The rule of all groups.
optimizer_rule common_rule(const std::vector<optimizer_settings>& settings) {
  if (settings.empty())
    throw invalid_argument("optimizer: the list of settings is empty; pass one entry per parameter group");
  const optimizer_rule rule = rule_of(settings.front());
  for (std::size_t i = 0; i < settings.size(); ++i)
    if (const auto other = rule_of(settings[i]); other.name != rule.name || other.step != rule.step)
      throw invalid_argument(
          fmt::format("optimizer: the settings of group {} need the kernel {}, but those of group 0 need {}; make one "
                      "optimizer for each",
                      i, other.step->name, rule.step->name));
  return rule;
}

}  // namespace

struct SYCLAMP_HIDDEN fused_optimizer::impl {
  impl(const syclamp::engine& owner, std::vector<parameter> parameters, const std::vector<optimizer_settings>& settings,
       const storage_options& options)
      : engine(owner), rule(common_rule(settings)), storage(engine, std::move(parameters), options, rule) {
    engine.kernels().prepare(*rule.step);
    fill_groups(settings);
    if (rule.pieces != nullptr) {
      const tensor_list& gradients = storage.gradients();
      piece_norms =
          allocate_on_device<kernels::piece_norms>(engine.queue(), gradients.prepared().chunks + gradients.size());
      tensor_norms = allocate_on_device<kernels::tensor_norms>(engine.queue(), gradients.size());
      command_queue(engine).memset(tensor_norms.get(), 0, gradients.size() * sizeof(kernels::tensor_norms));
    }
    engine.wait();
  }

  void fill_groups(const std::vector<optimizer_settings>& settings) {
    const std::uint32_t used_groups = storage.gradients().groups();
    if (settings.size() > 1 && used_groups > settings.size())
      throw invalid_argument(fmt::format(
          "optimizer: a parameter is in group {}, but there are settings for {} groups; pass settings for every group",
          used_groups - 1, settings.size()));
    host_groups.resize(std::max<std::size_t>({settings.size(), used_groups, 1}));
    for (std::size_t i = 0; i < host_groups.size(); ++i) {
      host_settings.push_back(settings[settings.size() == 1 ? 0 : i]);
      host_groups[i] = {rule_of(host_settings[i]).hyper, {}, 0, 0};
    }
    const command_queue queue(engine);
    device_groups = allocate_on_device<parameter_group>(queue, host_groups.size());
    memory = allocate_on_device<kernels::optimizer_memory>(queue, 1);
    always_apply = allocate_on_device<step_decision>(queue, 1);
    progress.emplace(engine, host_groups.size());
    const kernels::optimizer_memory initial{
        .groups = static_cast<std::uint32_t>(host_groups.size()),
        .tickets = 0,
        .stochastic = storage.options().rounding_mode == rounding::stochastic ? 1u : 0u,
        .unused = 0,
        .seed = storage.options().seed,
        .finished = 0,
        .progress = progress->device_address()};
    const step_decision apply_all;
    queue.memcpy(device_groups.get(), host_groups.data(), host_groups.size() * sizeof host_groups[0]);
    queue.memcpy(memory.get(), &initial, sizeof initial);
    queue.memcpy(always_apply.get(), &apply_all, sizeof apply_all);
    engine.wait();
  }

  sycl::event apply(const tensor_list& list, const step_decision* decisions, bool per_group) {
    check_given("optimizer", "decisions", decisions);
    storage.check_list(list);
    const auto& table = list.prepared();
    launch::kernel_library& library = engine.kernels();
    sycl::queue& queue = engine.queue();
    // At least one work-group, because it counts the step.
    const auto groups = std::max<std::uint64_t>(1, library.groups_for(*rule.step, table.chunks));
    const std::uint32_t stride = per_group ? 1 : 0;
    if (rule.pieces != nullptr && table.tensors != 0) {
      library.submit(queue, *rule.pieces, groups, table.addresses, table.starts, table.kinds, table.tensors,
                     storage.device_slots(), device_groups.get(), memory.get(), decisions, stride, piece_norms.get());
      library.submit(queue, *rule.norms, library.groups_for(*rule.norms, table.tensors), table.addresses, table.starts,
                     table.kinds, table.tensors, device_groups.get(), decisions, stride, piece_norms.get(),
                     tensor_norms.get());
    }
    const sycl::event step = library.submit(queue, *rule.step, groups, table.addresses, table.starts, table.kinds,
                                            table.tensors, storage.device_slots(), device_groups.get(), memory.get(),
                                            decisions, stride, tensor_norms.get());
    return progress->publish(engine, step);
  }

  /// Learning rates may be computed on the device from now on: steps have to check them.
  void expect_device_rates() {
    engine.kernels().prepare(launch::check_rates);
    has_device_rates = true;
  }

  void check_group(std::uint32_t group) const {
    if (group >= host_groups.size())
      throw invalid_argument(fmt::format("optimizer: there is no group {}; it has {} groups, and indices begin at 0",
                                         group, host_groups.size()));
  }

  /// Sends only the words that change: kernels of the user may have changed others on the device.
  void send(std::uint32_t group, const parameter_group& next) {
    const command_queue queue(engine);
    need_no_settings_recorded(queue);
    constexpr std::size_t words = offsetof(parameter_group, applied) / sizeof(std::uint32_t);
    std::array<std::uint32_t, words> before, after;
    std::memcpy(before.data(), &host_groups[group], sizeof before);
    std::memcpy(after.data(), &next, sizeof after);
    auto* target = reinterpret_cast<std::uint32_t*>(device_groups.get() + group);
    for (std::size_t i = 0; i < words; ++i)
      if (before[i] != after[i]) queue.fill(target + i, after[i], 1);
    host_groups[group] = next;
  }

  syclamp::engine engine;
  optimizer_rule rule;
  optimizer_storage storage;
  std::vector<parameter_group> host_groups;
  std::vector<optimizer_settings> host_settings;  ///< of each group, as the caller gave them
  std::optional<step_progress> progress;
  usm_array<parameter_group> device_groups;
  usm_array<kernels::optimizer_memory> memory;
  usm_array<step_decision> always_apply;
  usm_array<kernels::piece_norms> piece_norms;    ///< only if the step depends on norms
  usm_array<kernels::tensor_norms> tensor_norms;  ///< likewise
  bool has_device_rates = false;
};

fused_optimizer::fused_optimizer(const engine& engine, std::vector<parameter> parameters,
                                 const optimizer_settings& settings, const storage_options& storage)
    : fused_optimizer(engine, std::move(parameters), std::vector{settings}, storage) {}

fused_optimizer::fused_optimizer(const engine& engine, std::vector<parameter> parameters,
                                 const std::vector<optimizer_settings>& settings, const storage_options& storage)
    : impl_(std::make_unique<impl>(engine, std::move(parameters), settings, storage)) {}

fused_optimizer::~fused_optimizer() {
  if (is_runtime_gone()) leave_to_exit(impl_);
}
fused_optimizer::fused_optimizer(fused_optimizer&&) noexcept = default;
fused_optimizer& fused_optimizer::operator=(fused_optimizer&&) noexcept = default;

fused_optimizer::impl& fused_optimizer::state() const {
  if (!impl_) throw misuse_error("optimizer: this object was moved from; use the object it was moved to");
  return *impl_;
}

// --- A step ---

const tensor_list& fused_optimizer::gradients() const { return state().storage.gradients(); }
const tensor_list& fused_optimizer::unscaled_gradients() const { return state().storage.unscaled_gradients(); }

bool fused_optimizer::check_numbers(std::uint32_t* invalid_numbers) {
  if (!state().has_device_rates) return false;
  state().engine.kernels().submit(state().engine.queue(), launch::check_rates, 1, state().device_groups.get(), groups(),
                                  invalid_numbers);
  return true;
}

sycl::event fused_optimizer::apply(const step_inputs& inputs) {
  return state().apply(inputs.gradients, inputs.decisions, inputs.per_group);
}

sycl::event fused_optimizer::apply(const std::vector<sycl::event>& dependencies) {
  state().engine.order_after(dependencies);
  return state().apply(gradients(), state().always_apply.get(), false);
}

sycl::event fused_optimizer::zero_gradients(const std::vector<sycl::event>& dependencies) {
  return clear_gradients(gradients(), nullptr, dependencies);
}

// --- Hyper-parameters ---

void fused_optimizer::set_lr(double lr, std::uint32_t group) {
  state().check_group(group);
  parameter_group next = state().host_groups[group];
  next.hyper.lr = checked_lr(state().rule.name, lr);
  state().send(group, next);
  std::visit([&](auto& settings) { settings.lr = lr; }, state().host_settings[group]);
}

void fused_optimizer::set_lr(double lr) {
  for (std::uint32_t i = 0; i < groups(); ++i) set_lr(lr, i);
}

void fused_optimizer::set_lr_source(const std::optional<device_value>& lr, std::uint32_t group) {
  state().check_group(group);
  parameter_group next = state().host_groups[group];
  next.lr = lr ? reinterpret_cast<std::uintptr_t>(lr->address()) : 0;
  if (lr) state().expect_device_rates();
  state().send(group, next);
}

void fused_optimizer::set_lr_source(const std::optional<device_value>& lr) {
  for (std::uint32_t i = 0; i < groups(); ++i) set_lr_source(lr, i);
}

void fused_optimizer::set(const optimizer_settings& settings, std::uint32_t group) {
  state().check_group(group);
  const optimizer_rule rule = rule_of(settings);
  if (rule.name != state().rule.name || rule.step != state().rule.step)
    throw invalid_argument(fmt::format(
        "optimizer: these settings need the kernel {}, but the optimizer was made with {}; make a new optimizer",
        rule.step->name, state().rule.step->name));
  parameter_group next = state().host_groups[group];
  next.hyper = rule.hyper;
  state().send(group, next);
  state().host_settings[group] = settings;
}

void fused_optimizer::set_schedule(const lr_schedule& schedule) {
  check(schedule);
  for (std::uint32_t i = 0; i < groups(); ++i) {
    parameter_group next = state().host_groups[i];
    next.schedule = schedule;
    state().send(i, next);
  }
}

hyper_parameters* fused_optimizer::device_hyper_parameters(std::uint32_t group) const {
  state().check_group(group);
  state().expect_device_rates();
  return &state().device_groups[group].hyper;
}

// --- Readings ---

const std::uint64_t* fused_optimizer::device_steps(std::uint32_t group) const {
  state().check_group(group);
  return &state().device_groups[group].applied;
}

std::uint64_t fused_optimizer::steps(std::uint32_t group) const {
  std::uint64_t applied = 0;
  need_no_recording(state().engine.queue());
  command_queue(state().engine).memcpy(&applied, device_steps(group), sizeof applied);
  state().engine.wait();
  return applied;
}

optimizer_progress fused_optimizer::progress(std::uint32_t group) const {
  state().check_group(group);
  return state().progress->read(group);
}

optimizer_settings fused_optimizer::settings(std::uint32_t group) const {
  state().check_group(group);
  return with_hyper(state().host_settings[group], state().host_groups[group].hyper);
}

double fused_optimizer::lr(std::uint32_t group) const {
  return std::visit([](const auto& settings) { return settings.lr; }, settings(group));
}

std::size_t fused_optimizer::size() const { return state().storage.parameters().size(); }
std::uint32_t fused_optimizer::groups() const { return static_cast<std::uint32_t>(state().host_groups.size()); }
std::uint32_t fused_optimizer::states() const { return state().rule.states(); }
std::uint64_t fused_optimizer::device_bytes() const { return state().storage.device_bytes(); }
const engine& fused_optimizer::get_engine() const { return state().engine; }

array_view fused_optimizer::state(std::size_t parameter, std::uint32_t index) const {
  if (parameter >= size() || index >= states())
    throw invalid_argument(fmt::format(
        "optimizer: there is no moment {} of parameter {}; it has {} moments of {} parameters, and indices begin at 0",
        index, parameter, states(), size()));
  return state().storage.state(parameter, index);
}

std::vector<float> fused_optimizer::weights(std::size_t parameter) const {
  if (parameter >= size())
    throw invalid_argument(fmt::format(
        "optimizer: there is no parameter {}; it has {} parameters, and indices begin at 0", parameter, size()));
  return state().storage.read_weights(parameter);
}

// --- State ---

void fused_optimizer::set_steps(std::span<const std::uint64_t> applied) {
  if (applied.size() != groups())
    throw invalid_argument(
        fmt::format("set_steps: there are {} numbers, but the optimizer has {} groups; pass one number "
                    "per group",
                    applied.size(), groups()));
  need_no_settings_recorded(state().engine.queue());
  const command_queue queue(state().engine);
  std::vector<parameter_group> counted = state().host_groups;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    counted[i].applied = applied[i];
    queue.memcpy(&state().device_groups.get()[i].applied, &counted[i].applied, sizeof counted[i].applied);
  }
  queue.memset(&state().memory.get()->finished, 0, sizeof(std::uint64_t));
  state().progress->restore(state().engine, counted);  // waits, so that the copies may end here
}

std::vector<float> fused_optimizer::tensor_moments() const {
  if (!state().rule.has_tensor_moments) return {};
  need_no_recording(state().engine.queue());
  std::vector<kernels::tensor_norms> norms(size());
  if (!norms.empty())
    command_queue(state().engine).memcpy(norms.data(), state().tensor_norms.get(), norms.size() * sizeof norms[0]);
  state().engine.wait();
  std::vector<float> moments;
  for (const auto& norm : norms) moments.push_back(norm.second);
  return moments;
}

void fused_optimizer::set_tensor_moments(std::span<const float> moments) {
  const std::size_t expected = state().rule.has_tensor_moments ? size() : 0;
  if (moments.size() != expected)
    throw invalid_argument(fmt::format(
        "set_tensor_moments: there are {} moments, but the optimizer keeps {}; only novograd keeps them, one "
        "per parameter",
        moments.size(), expected));
  std::vector<kernels::tensor_norms> norms;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (!(moments[i] >= 0.0f) || !std::isfinite(moments[i]))
      throw invalid_argument(fmt::format("set_tensor_moments: the moment of {} is {}; it must be finite and 0 or more",
                                         described(gradients(), i), moments[i]));
    norms.push_back({.trust = 0.0f, .second = moments[i]});
  }
  need_no_settings_recorded(state().engine.queue());
  if (!norms.empty())
    command_queue(state().engine).memcpy(state().tensor_norms.get(), norms.data(), norms.size() * sizeof norms[0]);
  state().engine.wait();
}

optimizer_parts fused_optimizer::parts() const {
  return {state().engine,
          state().rule,
          state().storage.options(),
          state().storage.parameters(),
          state().storage.slots(),
          state().host_groups,
          state().device_groups.get(),
          state().memory.get(),
          state().tensor_norms.get(),
          *state().progress};
}

}  // namespace SYCLAMP_NAMESPACE
