// SPDX-License-Identifier: Apache-2.0
#include "scaler/list_decisions.hpp"

#include <algorithm>
#include <cstring>

#include "engine/event_order.hpp"
#include "engine/recording.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE {
namespace {

bool is_foreign(const known_list& list) { return list.queue != nullptr && !list.queue->is_in_home_context(); }
bool is_neighbour(const known_list& list) { return list.queue != nullptr && list.queue->is_in_home_context(); }

/// The queues of the lists, each once.
std::vector<remote_queue*> queues_of(std::span<known_list* const> lists) {
  std::vector<remote_queue*> queues;
  for (const known_list* list : lists)
    if (list->queue != nullptr && std::find(queues.begin(), queues.end(), list->queue) == queues.end())
      queues.push_back(list->queue);
  return queues;
}

template <typename T>
void copy_elements(const usm_array<T>& from, const usm_array<T>& to, std::size_t count) {
  std::memcpy(to.get(), from.get(), count * sizeof(T));
}

}  // namespace

list_decisions::home_memory::home_memory(const decision_kernels& home)
    : state(home.get_engine(), home.options().scales),
      max_norm(allocate_on_host<float>(home.get_engine().queue(), 1)),
      no_invalid_number(allocate_on_device<std::uint32_t>(home.get_engine().queue(), 1)) {
  command_queue(home.get_engine()).memset(no_invalid_number.get(), 0, sizeof(std::uint32_t));
}

// --- Order ---

sycl::event list_decisions::begin(remote_queue& queue, const std::vector<sycl::event>& dependencies) const {
  const engine &home = home_.get_engine(), &there = queue.get_engine();
  if (is_recording(home.queue()) || is_recording(there.queue()))
    throw misuse_error(
        "a list of tensors belongs to another queue than the scaler, and a step on several queues cannot be recorded; "
        "record only steps on one queue, or submit this step without recording");
  queue.is_in_step = true;
  if (!queue.is_in_home_context()) {
    wait_across_contexts(dependencies);
    return {};
  }
  const std::size_t bytes = home_.options().scales * sizeof(scale_state);
  std::vector<sycl::event> before = dependencies;
  before.push_back(command_queue(home).memcpy(queue.sent.states.get(), home_.states(), bytes));
  there.order_after(before);
  return queue.queue().memcpy(queue.mirror().states(), queue.sent.states.get(), bytes);
}

sycl::event list_decisions::begin(const char* call, std::span<known_list* const> lists,
                                  const std::vector<sycl::event>& dependencies) const {
  for (const known_list* list : lists)
    list->inspection.tensors().get_engine().need_dependencies(
        call, dependencies, "the events of the backward pass, or of later commands that write the gradients");
  const bool is_across =
      std::any_of(lists.begin(), lists.end(), [](const known_list* list) { return is_foreign(*list); });
  if (is_across) wait_across_contexts(dependencies);
  const std::vector<sycl::event> left = is_across ? std::vector<sycl::event>{} : dependencies;
  sycl::event ordered = home_.get_engine().order_after(left);
  for (remote_queue* queue : queues_of(lists)) ordered = begin(*queue, left);
  return ordered;
}

/// DPC++ 2026.2 crashes by chance if a command depends on an event of another context. So the host waits for them.
void list_decisions::wait_across_contexts(const std::vector<sycl::event>& dependencies) const {
  if (!dependencies.empty()) home_.get_engine().wait_for(dependencies);
}

sycl::event list_decisions::send_scales(remote_queue& queue, const std::vector<sycl::event>& dependencies) const {
  sycl::event ordered = begin(queue, dependencies);
  exchange({}, {nullptr, kernels::no_scalar}, true, &queue);
  return ordered;
}

void list_decisions::end(const known_list& list, const sycl::event& applied) const {
  if (is_neighbour(list)) home_.get_engine().order_after({applied});
}

void list_decisions::end_step(const remote_queues& queues) const {
  for (const auto& queue : queues.all()) {
    if (!queue->is_in_step) continue;
    queue->is_in_step = false;
    queue->queue().memset(queue->invalid_numbers(), 0, sizeof(std::uint32_t));
  }
}

// --- Decisions ---

bool list_decisions::check_numbers(const known_list& list, optimizer& checked) const {
  return checked.check_numbers(list.queue != nullptr ? list.queue->invalid_numbers()
                                                     : &home_.memory()->invalid_numbers);
}

void list_decisions::decide(known_list& list, const kernels::scalar_argument& max_norm, std::uint32_t mode) const {
  if (list.queue == nullptr) return home_.inspect_and_decide(list, max_norm, mode);
  inspect(list, true);
  decide_inspected(list, max_norm, mode, true);
}

void list_decisions::decide_on_sums(known_list& list, const kernels::scalar_argument& max_norm,
                                    std::uint32_t mode) const {
  inspect(list, false);
  decide_inspected(list, max_norm, mode, false);
}

void list_decisions::decide_inspected(known_list& list, const kernels::scalar_argument& max_norm, std::uint32_t mode,
                                      bool is_scaled) const {
  known_list* const only[] = {&list};
  gather_at_home(only, is_scaled);
  const auto limit = exchange(only, max_norm, is_scaled);
  home_.decide(list, max_norm, mode);
  if (is_foreign(list)) list.queue->mirror().decide(list.remote->workspace, limit, mode);
  send_decisions(only);
}

void list_decisions::skip_if_invalid(known_list& list) const {
  known_list* const only[] = {&list};
  gather_at_home(only, true);
  exchange(only, {nullptr, kernels::no_scalar}, true);
  home_.skip_if_invalid(list);
  if (is_foreign(list)) list.queue->mirror().skip_if_invalid(list.remote->workspace);
  send_decisions(only);
}

void list_decisions::decide_jointly(std::span<known_list* const> lists, const kernels::scalar_argument& max_norm,
                                    bool clip_separately) const {
  const auto is_fresh = [](const known_list& list) { return list.reached == stage::fresh; };
  for (const known_list* list : lists)
    if (is_fresh(*list)) inspect(*list, true);
  gather_at_home(lists, true);
  bool is_first = true;
  const auto report_of = [&](const known_list& list) {
    std::uint32_t report = is_first ? std::uint32_t{kernels::report_first} : 0u;
    is_first = false;
    if (clip_separately) report |= kernels::report_norm;
    // The record has the norm of gradients that were unscaled before already.
    if (!clip_separately && is_fresh(list)) report |= kernels::report_squares;
    return report;
  };
  for (known_list* list : lists)
    if (!is_foreign(*list)) home_.report_jointly(*list, max_norm, !is_fresh(*list), report_of(*list));
  // Results of other contexts are known, and reported, only after the wait.
  const auto limit = exchange(lists, max_norm, true);
  for (known_list* list : lists)
    if (is_foreign(*list)) report_jointly(lists, *list, max_norm, limit, report_of(*list));
  std::uint32_t mode = kernels::decide_scale | kernels::decide_apply | kernels::decide_jointly;
  if (!clip_separately) mode |= kernels::decide_joint_norm;
  for (known_list* list : lists) {
    const decision_kernels* there = is_foreign(*list) ? &list->queue->mirror() : nullptr;
    if (is_fresh(*list)) {
      home_.decide(*list, max_norm, mode);
      if (there != nullptr) there->decide(list->remote->workspace, limit, mode);
      mode |= kernels::decide_norm_known;
    } else {
      home_.skip_jointly(*list);
      if (there != nullptr) there->skip_jointly(list->remote->workspace);
    }
    list->reached = stage::stepped;
  }
  send_decisions(lists);
}

/// On the scaler's queue, and on all queues of other contexts.
void list_decisions::report_jointly(std::span<known_list* const> lists, known_list& reported,
                                    const kernels::scalar_argument& max_norm, const kernels::scalar_argument& limit,
                                    std::uint32_t report) const {
  const bool is_decided = reported.reached != stage::fresh;
  home_.report_jointly(reported, max_norm, is_decided, report);
  for (remote_queue* queue : queues_of(lists)) {
    if (queue->is_in_home_context()) continue;
    const gradient_workspace& workspace = reported.queue == queue
                                              ? reported.remote->workspace
                                              : queue->guest_for(reported.inspection.tensors()).workspace;
    queue->mirror().report_jointly(workspace, limit, is_decided, report);
  }
}

// --- What travels from queue to queue ---

void list_decisions::inspect(const known_list& list, bool is_scaled) const {
  const decision_kernels& kernels = list.queue != nullptr ? list.queue->mirror() : home_;
  // Another context does not know the scale yet.
  if (is_scaled && !is_foreign(list)) return kernels.inspect(list.local());
  kernels.inspect_unscaled(list.local());
}

/// Brings results of other queues in the scaler's context to the scaler's queue. Copies go through host memory, which
/// all devices of a context can read and write. (The OpenCL driver of CPUs blocks when a device's memory is copied to a
/// part of it.)
void list_decisions::gather_at_home(std::span<known_list* const> lists, bool is_scaled) const {
  const engine& home = home_.get_engine();
  const std::size_t bytes = home_.options().scales * sizeof(inspection);
  for (const known_list* list : lists)
    if (is_neighbour(*list))
      list->queue->queue().memcpy(list->remote->received.results.get(), list->queue->mirror().results(list->local()),
                                  bytes);
  for (const remote_queue* queue : queues_of(lists)) {
    if (!queue->is_in_home_context()) continue;
    constexpr std::size_t word = sizeof(std::uint32_t);
    home.order_after({queue->queue().memcpy(queue->received_invalid.get(), queue->invalid_numbers(), word)});
    command_queue(home).memcpy(queue->invalid_at_home.get(), queue->received_invalid.get(), word);
  }
  for (const known_list* list : lists) {
    if (!is_neighbour(*list)) continue;
    command_queue(home).memcpy(home_.results(*list), list->remote->received.results.get(), bytes);
    home_.import_results(*list, is_scaled, list->queue->invalid_at_home.get());
  }
}

/// Copies everything to host memory and waits for it.
void list_decisions::receive(std::span<known_list* const> lists, std::span<remote_queue* const> queues,
                             const kernels::scalar_argument& max_norm) const {
  const std::uint32_t scales = home_.options().scales;
  std::vector<sycl::event> copied;
  for (const known_list* list : lists) {
    if (!is_foreign(*list)) continue;
    const remote_list& remote = *list->remote;
    const command_queue queue = list->queue->queue();
    queue.memcpy(remote.received.results.get(), list->queue->mirror().results(remote.workspace),
                 scales * sizeof(inspection));
    queue.memcpy(remote.received.decisions.get(), remote.workspace.decisions(), scales * sizeof(step_decision));
  }
  for (const remote_queue* queue : queues)  // the last copy of each queue, which is in order
    copied.push_back(
        queue->queue().memcpy(queue->received_invalid.get(), queue->invalid_numbers(), sizeof(std::uint32_t)));
  const command_queue home(home_.get_engine());
  if (max_norm.address != nullptr) home.memcpy(transit_->max_norm.get(), max_norm.address, sizeof(float));
  home.memcpy(transit_->state.memory.get(), home_.memory(), sizeof(kernels::scaler_memory));
  home.memcpy(transit_->state.states.get(), home_.states(), scales * sizeof(scale_state));
  copied.push_back(
      home.memcpy(transit_->state.open_steps.get(), home_.open_steps(), scales * sizeof(kernels::open_step)));
  home_.get_engine().wait_for(copied);
}

/// Brings results of other contexts to the scaler's queue, and sends all results and the scaler's state to those
/// contexts. Waits once if there is such a list, or `unlisted`, a queue of another context without one.
/// \return the limit by value, for queues of other contexts
kernels::scalar_argument list_decisions::exchange(std::span<known_list* const> lists,
                                                  const kernels::scalar_argument& max_norm, bool is_scaled,
                                                  remote_queue* unlisted) const {
  std::vector<remote_queue*> queues = queues_of(lists);
  if (unlisted != nullptr) queues.push_back(unlisted);
  std::erase_if(queues, [](const remote_queue* queue) { return queue->is_in_home_context(); });
  if (queues.empty()) return max_norm;
  if (!transit_) transit_ = std::make_unique<home_memory>(home_);
  receive(lists, queues, max_norm);

  const std::uint32_t scales = home_.options().scales;
  const float limit = max_norm.address != nullptr ? *transit_->max_norm.get() : max_norm.value;
  std::uint32_t& invalid = transit_->state.memory.get()->invalid_numbers;
  if (max_norm.address != nullptr && !(limit >= 0.0f)) invalid = 1;
  for (const remote_queue* queue : queues) invalid |= *queue->received_invalid.get();

  const command_queue home(home_.get_engine());
  if (invalid != 0) home.fill(&home_.memory()->invalid_numbers, invalid, 1);
  for (const known_list* list : lists) {
    if (!is_foreign(*list)) continue;
    copy_elements(list->remote->received.results, list->remote->sent.results, scales);
    home.memcpy(home_.results(*list), list->remote->sent.results.get(), scales * sizeof(inspection));
    home_.import_results(*list, is_scaled, transit_->no_invalid_number.get());
  }
  for (remote_queue* queue : queues) send_state(lists, *queue, is_scaled);
  return {nullptr, limit};
}

/// The scaler's state, and what was found of lists in other contexts.
void list_decisions::send_state(std::span<known_list* const> lists, remote_queue& queue, bool is_scaled) const {
  const std::uint32_t scales = home_.options().scales;
  const decision_kernels& mirror = queue.mirror();
  const command_queue there = queue.queue();
  copy_elements(transit_->state.memory, queue.sent.memory, 1);
  copy_elements(transit_->state.states, queue.sent.states, scales);
  copy_elements(transit_->state.open_steps, queue.sent.open_steps, scales);
  there.memcpy(mirror.memory(), queue.sent.memory.get(), sizeof(kernels::scaler_memory));
  there.memcpy(mirror.states(), queue.sent.states.get(), scales * sizeof(scale_state));
  there.memcpy(mirror.open_steps(), queue.sent.open_steps.get(), scales * sizeof(kernels::open_step));
  for (const known_list* list : lists) {
    if (!is_foreign(*list)) continue;
    if (list->queue == &queue) {
      mirror.import_results(list->remote->workspace, is_scaled, queue.invalid_numbers());
      continue;
    }
    auto& [workspace, sent] = queue.guest_for(list->inspection.tensors());
    copy_elements(list->remote->received.results, sent.results, scales);
    copy_elements(list->remote->received.decisions, sent.decisions, scales);
    there.memcpy(mirror.results(workspace), sent.results.get(), scales * sizeof(inspection));
    there.memcpy(workspace.decisions(), sent.decisions.get(), scales * sizeof(step_decision));
    mirror.import_results(workspace, is_scaled, queue.invalid_numbers());
  }
}

/// Sends decisions to the queues of the scaler's context. The scaler's queue continues after the copies, because its
/// memory may be freed.
void list_decisions::send_decisions(std::span<known_list* const> lists) const {
  const std::size_t bytes = home_.options().scales * sizeof(step_decision);
  sycl::event last;
  for (const known_list* list : lists)
    if (is_neighbour(*list))
      last = command_queue(home_.get_engine()).memcpy(list->remote->sent.decisions.get(), list->decisions(), bytes);
  for (const remote_queue* queue : queues_of(lists))
    if (queue->is_in_home_context()) queue->get_engine().order_after({last});
  std::vector<sycl::event> copied;
  for (const known_list* list : lists)
    if (is_neighbour(*list))
      copied.push_back(
          list->queue->queue().memcpy(list->local().decisions(), list->remote->sent.decisions.get(), bytes));
  home_.get_engine().order_after(copied);
}

}  // namespace SYCLAMP_NAMESPACE
