// SPDX-License-Identifier: Apache-2.0
#include "scaler/remote_queue.hpp"

#include <fmt/format.h>

#include "engine/recording.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/error.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

/// Ranks agree on the scaler's own queue only.
scaler_options without_consensus(scaler_options options) {
  options.consensus = {};
  return options;
}

}  // namespace

state_in_transit::state_in_transit(const engine& engine, std::uint32_t scales)
    : memory(allocate_on_host<kernels::scaler_memory>(engine.queue(), 1)),
      states(allocate_on_host<scale_state>(engine.queue(), scales)),
      open_steps(allocate_on_host<kernels::open_step>(engine.queue(), scales)) {}

list_in_transit::list_in_transit(const engine& engine, std::uint32_t scales)
    : results(allocate_on_host<inspection>(engine.queue(), scales)),
      decisions(allocate_on_host<step_decision>(engine.queue(), scales)) {}

remote_list::remote_list(const decision_kernels& there, const engine& home, const tensor_list& gradients)
    : workspace(there.make_workspace(gradients)),
      received(there.get_engine(), there.options().scales),
      sent(home, there.options().scales) {
  workspace.inspection.prepare_kernels();
}

remote_queue::remote_queue(const engine& there, const decision_kernels& home)
    : sent(there, home.options().scales),
      received_invalid(allocate_on_host<std::uint32_t>(there.queue(), 1)),
      invalid_at_home(allocate_on_device<std::uint32_t>(home.get_engine().queue(), 1)),
      mirror_(there, without_consensus(home.options())),
      is_in_home_context_(there.queue().get_context() == home.get_engine().queue().get_context()) {
  there.kernels().prepare(launch::import_inspection);
  mirror_.restart(scaler_snapshot::fresh({}, home.options().scales));
}

remote_queue::guest& remote_queue::guest_for(const tensor_list& gradients) {
  const std::uint64_t id = gradients.prepared().id;
  if (const auto found = guests_.find(id); found != guests_.end()) return found->second;
  return guests_
      .emplace(id, guest{mirror_.make_guest(gradients), list_in_transit(get_engine(), mirror_.options().scales)})
      .first->second;
}

remote_queue* remote_queues::find_or_make(const char* call, const engine& engine) {
  const syclamp::engine& home = home_.get_engine();
  if (engine.queue() == home.queue()) return nullptr;
  for (const auto& known : queues_)
    if (known->get_engine().queue() == engine.queue()) return known.get();
  if (home_.options().consensus && engine.queue().get_context() != home.queue().get_context())
    throw invalid_argument(
        fmt::format("{}: the list of tensors belongs to another context than the scaler, so it cannot take part in the "
                    "scaler's consensus; make both with queues of one context, or make one scaler per context",
                    call));
  need_no_recording(home.queue());
  queues_.push_back(std::make_unique<remote_queue>(engine, home_));
  return queues_.back().get();
}

}  // namespace SYCLAMP_NAMESPACE
