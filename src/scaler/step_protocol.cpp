// SPDX-License-Identifier: Apache-2.0
#include "scaler/step_protocol.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "engine/recording.hpp"
#include "syclamp/error.hpp"
#include "tensors/list_checks.hpp"
#include "tensors/tensor_table.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

bool shares_memory(const tensor_list& first, const tensor_list& second) {
  return first.prepared().id == second.prepared().id || shared_memory_of(first, second).has_value();
}

}  // namespace

step_protocol::step_protocol(const decision_kernels& kernels, remote_queues& queues, scaler_ledger& ledger)
    : kernels_(kernels),
      queues_(queues),
      ledger_(ledger),
      recordable_(kernels.get_engine().queue(), [this] { return copy_progress(); }) {}

// --- Lists of gradients ---

known_list& step_protocol::known(const char* call, const tensor_list& gradients) {
  const engine& engine = kernels_.get_engine();
  const std::uint64_t id = gradients.prepared().id;
  if (const auto found = lists_.find(id); found != lists_.end()) {
    found->second.is_recorded = found->second.is_recorded || is_recording(engine.queue());
    return found->second;
  }
  need_scales_for(gradients);
  remote_queue* queue = queues_.find_or_make(call, gradients.get_engine());
  known_list list{queue == nullptr ? kernels_.make_workspace(gradients) : kernels_.make_guest(gradients)};
  list.queue = queue;
  if (queue != nullptr) list.remote = std::make_unique<remote_list>(queue->mirror(), engine, gradients);
  release_lists();
  list.index = ledger_.add_list(gradients);
  return lists_.emplace(id, std::move(list)).first->second;
}

/// Frees the memory of lists that the user no longer holds.
void step_protocol::release_lists() {
  const auto own_handles = [&](std::uint64_t id, const known_list& list) {
    long handles = list.remote ? 3 : 2;  // the workspace's and the ledger's, and that of the workspace on its own queue
    for (const auto& queue : queues_.all()) handles += queue->guest_handles(id);
    return handles;
  };
  std::vector<std::uint64_t> ids;
  std::vector<std::uint32_t> indices;
  for (const auto& [id, list] : lists_)
    if (list.reached == stage::fresh && !list.is_in_open_step && !list.is_recorded &&
        list.inspection.tensors().use_count() == own_handles(id, list)) {
      ids.push_back(id);
      indices.push_back(list.index);
    }
  if (ids.empty()) return;
  ledger_.remove_lists(indices);
  for (const std::uint64_t id : ids) {
    lists_.erase(id);
    for (const auto& queue : queues_.all()) queue->release_guest(id);
  }
}

void step_protocol::need_scales_for(const tensor_list& list) const {
  const std::uint32_t scales = kernels_.options().scales;
  if (scales > 1 && list.groups() > scales)
    throw invalid_argument(
        fmt::format("the tensors have {} groups, but the scaler has {} scales; set scaler_options::scales to the "
                    "number of groups, or to 1",
                    list.groups(), scales));
}

// --- Progress of the step ---

void step_protocol::mark_unscaled(known_list& list, const tensor_list& unscaled) {
  is_decided_ = true;
  list.reached = stage::unscaled;
  list.unscaled_to = unscaled.prepared().id + 1;
}

void step_protocol::mark_uninspected() {
  is_decided_ = true;
  ++uninspected_;
}

std::uint32_t step_protocol::end_step() {
  is_scaled_ = is_decided_ = false;
  for (auto& [id, list] : lists_) {
    list.reached = stage::fresh;
    list.unscaled_to = 0;
    list.is_in_open_step = false;
  }
  return std::exchange(uninspected_, 0u);
}

/// \return a function that puts everything back as it is now
std::function<void()> step_protocol::copy_progress() {
  std::map<std::uint64_t, std::tuple<stage, std::uint64_t, bool, bool>> copies;
  for (const auto& [id, list] : lists_)
    copies.emplace(id, std::tuple(list.reached, list.unscaled_to, list.is_in_open_step, list.is_recorded));
  return [this, copies, scaled = is_scaled_, decided = is_decided_, window = is_window_open_, sums = sums_,
          uninspected = uninspected_] {
    for (auto& [id, list] : lists_)
      if (const auto copy = copies.find(id); copy != copies.end())
        std::tie(list.reached, list.unscaled_to, list.is_in_open_step, list.is_recorded) = copy->second;
    is_scaled_ = scaled;
    is_decided_ = decided;
    is_window_open_ = window;
    sums_ = sums;
    uninspected_ = uninspected;
  };
}

// --- Accumulation windows ---

void step_protocol::open_window(const tensor_list& sum) {
  is_window_open_ = true;
  const auto is_same = [&](const tensor_list& known) { return known.prepared().id == sum.prepared().id; };
  if (std::any_of(sums_.begin(), sums_.end(), is_same)) return;
  std::erase_if(sums_, [](const tensor_list& known) { return known.use_count() == 1; });  // nobody else holds them
  sums_.push_back(sum);
}

void step_protocol::close_window(const tensor_list& sums) {
  is_decided_ = true;
  is_window_open_ = false;
  std::erase_if(sums_, [&](const tensor_list& known) { return shares_memory(sums, known); });
}

void step_protocol::reset() {
  end_step();
  is_window_open_ = false;
  sums_.clear();
}

// --- Misuse ---

void step_protocol::need_scaled(const char* call) const {
  if (!is_scaled_)
    throw misuse_error(
        fmt::format("{}: no loss was scaled since the last update(), so these gradients are not scaled or belong to an "
                    "earlier step; call begin_step() or scale(loss) before the backward pass",
                    call));
}

void step_protocol::need_decided() const {
  if (!is_decided_)
    throw misuse_error(
        "update: no gradients were inspected since the last update(); call step(), unscale() or inspect() first");
}

void step_protocol::need_no_open_step() const {
  if (is_scaled_ || is_decided_)
    throw misuse_error("state: the scaler is in the middle of a step, which cannot be saved; call update() first");
  if (is_window_open_)
    throw misuse_error(
        "state: an open accumulation window cannot be saved; call step_accumulated() and update() first");
}

void step_protocol::need_fresh(const char* call, const known_list& list) const {
  if (list.reached == stage::stepped)
    throw misuse_error(
        fmt::format("{}: step() or inspect() was already called for these gradients; call update() first", call));
}

void step_protocol::need_untouched(const char* call, const known_list& list) const {
  need_fresh(call, list);
  if (list.reached == stage::unscaled)
    throw misuse_error(fmt::format("{}: these gradients are already unscaled; call step() and update() first", call));
}

void step_protocol::need_steppable(const optimizer& stepping, const known_list& list,
                                   const step_options& options) const {
  need_fresh("step", list);
  need_no_sums("step", stepping.gradients());
  if (list.reached != stage::unscaled) return;
  if (options.max_norm)
    throw misuse_error(
        "step: max_norm was given, but these gradients are already unscaled; pass max_norm to unscale(), or clip them "
        "by hand");
  if (list.unscaled_to != stepping.unscaled_gradients().prepared().id + 1)
    throw misuse_error(
        "step: these gradients were unscaled into a list that is not the optimizer's; call unscale(optimizer)");
}

void step_protocol::need_no_sums(const char* call, const tensor_list& list, const tensor_list* apart) const {
  for (const tensor_list& sum : sums_)
    if (sum.use_count() > 1 && (apart == nullptr || sum.prepared().id != apart->prepared().id))
      if (shares_memory(list, sum))
        throw misuse_error(
            fmt::format("{}: these tensors are the sums of an open accumulation window and already unscaled; call "
                        "step_accumulated(optimizer), which applies their mean and closes the window",
                        call));
}

}  // namespace SYCLAMP_NAMESPACE
