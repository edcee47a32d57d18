// SPDX-License-Identifier: Apache-2.0
#include "scaler/decision_kernels.hpp"

#include <utility>
#include <vector>

#include "engine/command_queue.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "scaler/scaling_rule.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {

decision_kernels::decision_kernels(engine owner, const scaler_options& options)
    : engine_(std::move(owner)),
      options_(options),
      memory_(allocate_on_device<kernels::scaler_memory>(engine_.queue(), 1)),
      states_(allocate_on_device<scale_state>(engine_.queue(), options_.scales)),
      open_steps_(allocate_on_device<kernels::open_step>(engine_.queue(), options_.scales)),
      always_apply_(initial_decisions()) {
  if (options_.consensus) rank_flags_ = allocate_on_device<kernels::rank_flags>(engine_.queue(), options_.scales);
}

factor decision_kernels::scale_factor(kernels::factor_kind kind) const {
  if (has_one_scale()) return {.values = scale(), .kind = kind};
  return {.values = scale(), .kind = kind, .per = kernels::factor_per::group, .stride = loss_scaler::scale_stride()};
}

void decision_kernels::prepare() const {
  launch::kernel_library& library = engine_.kernels();
  library.prepare(launch::update_scale);
  if (has_one_kernel()) return library.prepare(launch::inspect_step);
  library.prepare(launch::decide_gradients);
  if (has_one_scale()) return library.prepare(launch::inspect_chunks);
  library.prepare(launch::inspect_pieces);
}

void decision_kernels::restart(const scaler_snapshot& snapshot) {
  const std::vector<kernels::open_step> empty(options_.scales, kernels::open_step{});
  kernels::scaler_memory shared{};
  shared.rule = rule_of(snapshot.policy);
  const command_queue queue(engine_);
  queue.memcpy(memory_.get(), &shared, sizeof shared);
  queue.memcpy(states_.get(), snapshot.scales.data(), snapshot.scales.size() * sizeof(scale_state));
  queue.memcpy(open_steps_.get(), empty.data(), empty.size() * sizeof(kernels::open_step));
  engine_.wait();
}

/// One decision per scale that applies the gradients unchanged.
usm_array<step_decision> decision_kernels::initial_decisions() const {
  auto decisions = allocate_on_device<step_decision>(engine_.queue(), options_.scales);
  const std::vector<step_decision> initial(options_.scales);
  command_queue(engine_).memcpy(decisions.get(), initial.data(), initial.size() * sizeof(step_decision));
  engine_.wait();
  return decisions;
}

gradient_workspace decision_kernels::make_workspace(const tensor_list& gradients) const {
  auto decisions = std::make_shared<const usm_array<step_decision>>(initial_decisions());
  const auto& table = gradients.prepared();
  const bool is_left_out = options_.consensus.rank != 0 && table.replicated != 0;
  const bool has_no_squares = is_left_out && table.replicated == table.tensors;
  const bool leaves_out_some = is_left_out && !has_no_squares;
  // The sum of squares over some tensors needs the sum of each tensor.
  const bool has_details = !has_one_scale() || leaves_out_some;
  const inspection_level level = has_details ? inspection_level::tensors : inspection_level::list;
  inspection_workspace workspace(gradients, level, options_.scales);
  if (leaves_out_some || !table.has_gradient_types) workspace.prepare_kernels();
  if (has_one_kernel() && !table.has_gradient_types) engine_.kernels().prepare(launch::inspect_and_decide);
  return {std::move(workspace), std::move(decisions), leaves_out_some, has_no_squares};
}

gradient_workspace decision_kernels::make_guest(const tensor_list& gradients) const {
  gradient_workspace guest = make_workspace(gradients);
  guest.imported =
      std::make_shared<const usm_array<inspection>>(allocate_on_device<inspection>(engine_.queue(), options_.scales));
  return guest;
}

// --- Inspection and decision ---

inspection* decision_kernels::results(const gradient_workspace& list) const {
  if (list.imported) return list.imported->get();
  return has_one_scale() ? list.inspection.result() : list.inspection.group_results();
}

void decision_kernels::inspect(const gradient_workspace& list) const {
  list.inspection.inspect({scale(), kernels::no_scalar}, has_one_scale() ? 0 : loss_scaler::scale_stride(),
                          !list.leaves_out_replicated);
}

void decision_kernels::inspect_unscaled(const gradient_workspace& list) const {
  list.inspection.inspect({nullptr, kernels::no_scalar}, 0, !list.leaves_out_replicated);
}

/// After a kernel that has written statistics of chunks: one kernel that adds them up and decides.
sycl::event decision_kernels::add_up_and_decide(const gradient_workspace& list,
                                                const kernels::scalar_argument& max_norm, std::uint32_t mode) const {
  const auto& table = list.inspection.tensors().prepared();
  return engine_.kernels().submit(engine_.queue(), launch::inspect_and_decide, 1, list.inspection.statistics(),
                                  table.starts, table.tensors, list.inspection.result(), memory_.get(), states_.get(),
                                  open_steps_.get(), max_norm.address, max_norm.value, mode, list.index,
                                  list.decisions());
}

/// Inspects and decides, in one kernel if all types are those of gradients. Without any chunk there is only a decision.
sycl::event decision_kernels::inspect_step(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                                           std::uint32_t mode) const {
  const auto& table = list.inspection.tensors().prepared();
  launch::kernel_library& library = engine_.kernels();
  const auto groups = library.groups_for(launch::inspect_step, table.chunks);
  if (!table.has_gradient_types) list.inspection.inspect_chunks();
  if (!table.has_gradient_types || groups == 0) return add_up_and_decide(list, max_norm, mode);
  return library.submit(engine_.queue(), launch::inspect_step, groups, table.addresses, table.starts, table.kinds,
                        table.tensors, list.inspection.statistics(), list.inspection.result(), memory_.get(),
                        states_.get(), open_steps_.get(), max_norm.address, max_norm.value, mode, list.index,
                        list.decisions());
}

/// With a consensus: lets all ranks know what this one has found.
/// \return the flags of all ranks; null without a consensus
const kernels::rank_flags* decision_kernels::gather_ranks(const gradient_workspace& list,
                                                          const kernels::scalar_argument& max_norm,
                                                          std::uint32_t mode) const {
  if (!options_.consensus) return nullptr;
  const bool jointly = (mode & kernels::decide_jointly) != 0;
  const kernels::rank_squares squares = (mode & kernels::decide_joint_norm) != 0 ? kernels::rank_squares::joint
                                        : list.has_no_squares                    ? kernels::rank_squares::none
                                                                                 : kernels::rank_squares::list;
  engine_.kernels().submit_items(engine_.queue(), launch::fill_rank_flags, options_.scales, results(list),
                                 memory_.get(), open_steps_.get(), options_.scales, max_norm.address, max_norm.value,
                                 jointly, squares, rank_flags_.get());
  options_.consensus.sum(engine_.queue(), reinterpret_cast<float*>(rank_flags_.get()),
                         std::size_t{options_.scales} * kernels::rank_flag_count);
  return rank_flags_.get();
}

sycl::event decision_kernels::decide(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                                     std::uint32_t mode) const {
  const kernels::rank_flags* ranks = gather_ranks(list, max_norm, mode);
  return engine_.kernels().submit(engine_.queue(), launch::decide_gradients, 1, results(list), ranks, memory_.get(),
                                  states_.get(), open_steps_.get(), options_.scales, max_norm.address, max_norm.value,
                                  mode | together(), list.index, list.decisions());
}

void decision_kernels::inspect_and_decide(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                                          std::uint32_t mode) const {
  if (has_one_kernel()) {
    inspect_step(list, max_norm, mode | together());
  } else {
    inspect(list);
    decide(list, max_norm, mode);
  }
}

sycl::event decision_kernels::unscale(const gradient_workspace& list, const tensor_list& unscaled,
                                      const kernels::scalar_argument& max_norm) const {
  const std::uint32_t mode = kernels::decide_scale | kernels::decide_apply | kernels::decide_unscaled;
  if (has_one_kernel()) {
    list.inspection.unscale_chunks(unscaled, {scale(), kernels::no_scalar});
    return add_up_and_decide(list, max_norm, mode | together());
  }
  inspect(list);
  const sycl::event decided = decide(list, max_norm, mode);
  return convert(list.inspection.tensors(), unscaled, scale_factor(kernels::factor_kind::divide), decided);
}

void decision_kernels::skip_if_invalid(const gradient_workspace& list) const {
  engine_.kernels().submit(engine_.queue(), launch::check_limits, 1, nullptr, 0u, 0u, memory_.get(), open_steps_.get(),
                           options_.scales, list.decisions());
}

step_gate decision_kernels::make_gate(const gradient_workspace& list) const {
  return {memory_.get(), open_steps_.get(), options_.scales, list.decisions()};
}

void decision_kernels::import_results(const gradient_workspace& list, bool is_scaled,
                                      const std::uint32_t* invalid) const {
  engine_.kernels().submit_items(engine_.queue(), launch::import_inspection, options_.scales, results(list),
                                 options_.scales, is_scaled ? states_.get() : nullptr, invalid, memory_.get());
}

// --- Several optimizers ---

void decision_kernels::clear_joint_flags() const {
  command_queue(engine_).memset(&memory_.get()->joint_flags, 0, sizeof(std::uint32_t));
}

void decision_kernels::report_jointly(const gradient_workspace& list, const kernels::scalar_argument& max_norm,
                                      bool is_decided, std::uint32_t report) const {
  if (list.has_no_squares) report &= ~std::uint32_t{kernels::report_squares};
  engine_.kernels().submit(engine_.queue(), launch::report_jointly, 1, results(list), options_.scales, max_norm.address,
                           max_norm.value, is_decided ? list.decisions() : nullptr, report, memory_.get(),
                           open_steps_.get());
}

void decision_kernels::skip_jointly(const gradient_workspace& list) const {
  const kernels::rank_flags* ranks = gather_ranks(list, {nullptr, kernels::no_scalar}, kernels::decide_jointly);
  engine_.kernels().submit_items(engine_.queue(), launch::skip_jointly, options_.scales, memory_.get(), ranks,
                                 open_steps_.get(), options_.scales, list.decisions());
}

void decision_kernels::withdraw(const gradient_workspace& list, const step_decision* decisions) const {
  const command_queue queue(engine_);
  const bool was_decided = decisions == list.decisions();
  if (!was_decided) queue.memcpy(list.decisions(), decisions, options_.scales * sizeof(step_decision));
  auto* joint_flags = &memory_.get()->joint_flags;
  queue.fill(joint_flags, kernels::found_failure, 1);
  engine_.kernels().submit_items(queue, launch::skip_jointly, options_.scales, memory_.get(), nullptr,
                                 open_steps_.get(), options_.scales, list.decisions());
  queue.fill(joint_flags, 0u, 1);
}

// --- The end of a step ---

sycl::event decision_kernels::update(std::uint32_t uninspected, float new_scale, const ledger_ring& ring) const {
  return engine_.kernels().submit_items(engine_.queue(), launch::update_scale, options_.scales, memory_.get(),
                                        states_.get(), open_steps_.get(), options_.scales, uninspected, new_scale,
                                        ring.device_slots(), ring.capacity());
}

sycl::event decision_kernels::resume() const {
  return engine_.kernels().submit_items(engine_.queue(), launch::resume_scaling, options_.scales, states_.get(),
                                        options_.scales);
}

}  // namespace SYCLAMP_NAMESPACE
