// SPDX-License-Identifier: Apache-2.0
// The end of a step: moves the scale and writes the record of the step.
//
//   update_scale   one work-item per scale   open_step[], state[] → state[], ledger
//
// A family of its own, because every step needs it: the driver compiles it in a fraction of the time of the scaler's
// other kernels.
#pragma once

#include "sycl_kernels/base/counter.hpp"
#include "sycl_kernels/base/work_group.hpp"
#include "sycl_kernels/shared/scaler_layout.hpp"
#include "sycl_kernels/shared/tuning.hpp"

namespace syclamp::kernels {

/// Stores a number for the host to see, in halves: not every device has 64-bit atomics. The lower half comes first.
inline void publish(std::uint64_t* to, std::uint64_t number) {
  auto* halves = reinterpret_cast<std::uint32_t*>(to);
  __scoped_atomic_store_n(&halves[0], static_cast<std::uint32_t>(number), __ATOMIC_RELEASE, __MEMORY_SCOPE_SYSTEM);
  __scoped_atomic_store_n(&halves[1], static_cast<std::uint32_t>(number >> 32), __ATOMIC_RELEASE,
                          __MEMORY_SCOPE_SYSTEM);
}

/// Publishes a record to the host, which may be reading. The number is written last, so a record with its number is
/// complete. (A half-written number is never larger than the newest, and its checksum does not match.)
inline void publish(ledger_slot* slot, std::uint64_t number, const step_record& record) {
  const auto* from = reinterpret_cast<const std::uint32_t*>(&record);
  auto* to = reinterpret_cast<std::uint32_t*>(&slot->record);
  std::uint64_t check = first_check(number);
  publish(&slot->number, 0);
  for (std::uint32_t i = 0; i < record_words; ++i) {
    __scoped_atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM);
    check = fnv_sum(check, from[i]);
  }
  publish(&slot->check, check);
  publish(&slot->number, number);
}

/// The outcome for the ledger. The scale moves by what the gradients showed (`shown`); the outcome is what happened to
/// the step.
inline step_outcome outcome_of(step_outcome shown, const step_record& current) {
  const bool was_applied = current.lists != 0 && current.skipped_lists == 0;
  if (shown == step_outcome::invalid_number) return shown;
  if (shown == step_outcome::applied)
    return current.lists == 0 ? step_outcome::accumulated
           : was_applied      ? step_outcome::applied
                              : step_outcome::skipped_jointly;
  // The mean over the good micro-batches of a window, one of which was bad, has been applied.
  return was_applied ? step_outcome::applied : shown;
}

/// Closes the step for one scale.
[[gnu::always_inline]] inline void close_step(scaler_memory* memory, scale_state& state, open_step& current,
                                              std::uint32_t index, std::uint32_t scales, std::uint32_t uninspected,
                                              float forced, ledger_slot* ledger, std::uint32_t capacity) {
  const scaling_rule& rule = memory->rule;
  step_record& record = current.record;  // where it lies: a copy would be an array in local memory on a GPU
  const std::uint32_t failure = current.has_failed != 0 ? found_by_user : 0u;
  const step_flags shown{record.flags | failure, record.elements != 0, current.norm_overflows != 0,
                         memory->invalid_numbers != 0};
  record.scale = state.scale;
  record.lists += uninspected;
  const step_outcome outcome = decide(rule, state, shown);
  const bool is_failure = current.has_failed != 0 && outcome == step_outcome::applied;  // scaling is disabled
  const step_outcome done = is_failure ? step_outcome::skipped_by_user : outcome_of(outcome, record);
  const bool is_skipped =
      done != step_outcome::applied && done != step_outcome::accumulated && done != step_outcome::no_gradients;
  const decision said =
      forced > 0.0f ? set_scale(state, outcome, forced) : advance(rule, state, outcome, is_skipped, record.amax);
  record.outcome =
      said.outcome == step_outcome::skipped_scale_held && is_skipped ? step_outcome::skipped_scale_held : done;
  record.status = said.status;
  count(state, record.outcome);
  record.retry = asks_for_retry(rule, state, record.outcome) ? 1u : 0u;
  record.next_scale = state.scale;
  record.step = state.attempted;
  record.applied = state.applied;
  record.skipped = state.skipped;
  record.skips_in_a_row = state.skips_in_a_row;
  record.scale_index = index;
  record.amax_limit = rule.amax_limit;
  const std::uint64_t before = (state.attempted - 1) * scales + index;
  publish(&ledger[before % capacity], before + 1, record);
  current = open_step{};
}

template <scalar_tuning Tuning>
struct update_scale {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, scaler_memory* memory, scale_state* states,
                                         open_step* open_steps, std::uint32_t scales, std::uint32_t uninspected,
                                         float forced, ledger_slot* ledger, std::uint32_t capacity) {
    const std::uint64_t i = item.global_id<Tuning.group_size>();
    if (i >= scales) return;
    // A user flag that was set after the decision applies to the next step.
    if (i == 0 && (open_steps[0].record.flags & found_by_user) != 0) memory->user_flags = 0;
    close_step(memory, states[i], open_steps[i], static_cast<std::uint32_t>(i), scales, uninspected, forced, ledger,
               capacity);
    // Reset only after all scales have read it.
    if (scales == 1 || take_ticket(&memory->tickets) + 1 == scales) memory->tickets = memory->invalid_numbers = 0;
  }
};

}  // namespace syclamp::kernels
