// SPDX-License-Identifier: Apache-2.0
// The scaler decides on a step. When the step is over, update.hpp moves the scale.
//
//   inspect_and_decide  one work-group           chunk_statistics[] → inspection, decision, open step
//   decide_gradients    one work-item            inspection[] → decision[], open_step[], as a kernel of its own
//   report_jointly      one work-item            inspection[] → flags and squares of optimizers that step together
//   skip_jointly        one work-item per scale  joint flags → decision[] of gradients that were decided on before
//   fill_rank_flags     one work-item per scale  inspection[] → rank_flags[], for a consensus over ranks
//   resume_scaling      one work-item per scale  state[] → state[], no longer stopped
//   guard_value         one work-item            a value far above its mean → user flags
//   check_limits        one work-item            limits of clipping by hand → decision[]
//   import_inspection   one work-item per scale  inspection[] of another queue → what one of this queue would be
//
// The kernels of a queue run one after the other, so what one of them leaves the next one may change without atomics.
#pragma once

#include "sycl_kernels/shared/scaler_layout.hpp"
#include "sycl_kernels/tensors/inspect.hpp"
#include "sycl_kernels/tensors/norm.hpp"
#include "sycl_kernels/walk/factor.hpp"

namespace syclamp::kernels {

/// True if a limit or a learning rate in device memory is negative or NaN: one that was checked before, or `max_norm`,
/// which may be absent.
inline bool has_invalid_numbers(const scaler_memory& memory, scalar_argument max_norm) {
  return memory.invalid_numbers != 0 || (max_norm.is_given() && !is_limit(max_norm.get()));
}

/// The flags of the gradients of one scale, from this rank or from all ranks.
inline step_flags step_flags_of(const inspection& result, const rank_flags* ranks, const scaler_memory& memory) {
  const std::uint32_t by_user = memory.user_flags != 0 ? found_by_user : 0u;
  if (ranks == nullptr) return {result.flags | by_user, result.elements != 0, false, false};
  const auto is_set = [](float sum, std::uint32_t bit) { return sum == 0.0f ? 0u : bit; };  // true for NaN as well
  return {is_set(ranks->inf, found_inf) | is_set(ranks->nan, found_nan) | is_set(ranks->by_user, found_by_user),
          ranks->has_elements != 0.0f, false, false};
}

/// Squares of one list.
inline wide_sum squares_of(const inspection& result) { return {{result.sum_of_squares, 0}, result.squares_exponent}; }

/// Squares of all lists of a joint step, as far as they have been reported.
inline wide_sum squares_of(const open_step& current) {
  return {{current.joint_squares, current.joint_squares_lost}, current.joint_squares_exponent};
}

/// Squares of all ranks.
inline wide_sum squares_of(const rank_flags& ranks) {
  wide_sum squares{{ranks.squares, 0}, 0};
  squares.add({{ranks.large_squares, 0}, sum_unit});
  squares.add({{ranks.small_squares, 0}, -sum_unit});
  return squares;
}

/// Enters the sum of squares of this rank.
inline void enter_squares(rank_flags& own, const wide_sum& squares) {
  const float sum = squares.part.sum;
  const bool is_plain = squares.exponent == 0;
  if (squares.exponent > 0 || (is_plain && sum >= large_sum && is_finite(sum))) {
    own.large_squares = is_plain ? one_unit_down(sum) : sum;
  } else if (squares.exponent < 0 || (is_plain && sum < small_sum)) {
    own.small_squares = is_plain ? one_unit_up(sum) : sum;
  } else {
    own.squares = sum;
  }
}

/// The norm of one scale. With `ranks` the squares are what all ranks have contributed. Else they are those of the
/// joint step, or, if `joint` is null, of the list. All lists of a joint step have the same scale.
[[gnu::always_inline]] inline float norm_of(const inspection& result, const rank_flags* ranks, const open_step* joint) {
  inspection all = result;
  if (ranks != nullptr || joint != nullptr) {
    const wide_sum squares = (ranks != nullptr ? squares_of(*ranks) : squares_of(*joint)).folded();
    all.sum_of_squares = squares.part.sum;
    all.squares_exponent = squares.exponent;
  }
  return unscaled_norm(all, norm_kind::l2);
}

/// The norm over all scales. Of one it is that one's, to the last bit.
[[gnu::always_inline]] inline float norm_of_all(const inspection* result, const rank_flags* ranks,
                                                const open_step* joint, std::uint32_t scales) {
  float norm = norm_of(result[0], ranks, joint);
  for (std::uint32_t i = 1; i < scales; ++i)
    norm = joint_norm(
        norm, norm_of(result[i], ranks != nullptr ? &ranks[i] : nullptr, joint != nullptr ? &joint[i] : nullptr));
  return norm;
}

/// Adds the results of an inspection to the open record of the step.
inline void enter(step_record& record, const inspection& result, std::uint32_t flags, std::uint32_t list) {
  if (record.first_nonfinite_tensor == no_element && result.first_nonfinite_tensor != no_element) {
    record.first_nonfinite_tensor = result.first_nonfinite_tensor;
    record.first_nonfinite = result.first_nonfinite;
    record.first_nonfinite_list = list;
  }
  record.flags |= flags;
  record.elements += result.elements;
  record.inf_count += result.inf_count;
  record.nan_count += result.nan_count;
  record.zero_count += result.zero_count;
  record.subnormal_count += result.subnormal_count;
  const auto bits = [](float x) { return __builtin_bit_cast(std::uint32_t, x); };  // a NaN is larger than all
  if (bits(result.amax) > bits(record.amax)) record.amax = result.amax;
}

/// Decides the gradients of one list. There is one inspection for each scale.
/// \param joint  not null: the norm is that of all lists of a joint step, whose squares are here
[[gnu::always_inline]] inline void decide_list(const inspection* result, const rank_flags* ranks,
                                               const open_step* joint, scaler_memory* memory, scale_state* states,
                                               open_step* open_steps, std::uint32_t scales, scalar_argument max_norm,
                                               std::uint32_t mode, std::uint32_t list, step_decision* decisions) {
  const scaling_rule& rule = memory->rule;
  const bool is_step = (mode & decide_apply) != 0, is_enabled = rule.mode != scaling_mode::disabled;
  const std::uint32_t batches = memory->micro_batches;
  const float share = (mode & decide_mean) != 0 && batches != 0 ? 1.0f / static_cast<float>(batches) : 1.0f;
  const float norm = norm_of_all(result, ranks, joint, scales) * share;
  const bool is_invalid = ranks != nullptr ? ranks[0].invalid != 0.0f : has_invalid_numbers(*memory, max_norm);
  const float clip = max_norm.is_given() && !is_invalid ? clip_factor(norm, max_norm.get()) : 1.0f;
  if (is_invalid) memory->invalid_numbers = 1;

  bool all_finite = true, any_elements = false, is_skipped = (mode & decide_mean) != 0 && batches == 0;
  for (std::uint32_t i = 0; i < scales; ++i) {
    const step_flags shown = step_flags_of(result[i], ranks != nullptr ? &ranks[i] : nullptr, *memory);
    all_finite = all_finite && shown.flags == 0;
    any_elements = any_elements || shown.has_elements;
    is_skipped = is_skipped || (ranks != nullptr && is_enabled && ranks[i].skipped != 0.0f);
  }
  if ((mode & decide_jointly) != 0 && is_enabled && memory->joint_flags != 0) is_skipped = true;
  // If another list is bad, a joint norm that is not finite may come from there, and is no overflow of the norm.
  const bool is_others_norm = joint != nullptr && is_skipped;
  const bool norm_overflows = max_norm.is_given() && all_finite && !is_others_norm && !is_finite(norm);
  // The test for spikes moves its running mean. So a joint norm is tested once, and the record knows the result.
  const bool is_entered = joint != nullptr && (mode & decide_norm_known) != 0;
  const bool spikes = is_entered ? (open_steps[0].record.flags & found_by_user) != 0
                                 : is_step && rule.spike_threshold > 0.0f && all_finite && is_finite(norm) &&
                                       is_spike(norm, rule.spike_threshold, rule.spike_window, states[0].norm_mean,
                                                states[0].norm_variance, states[0].norms);

  bool all_good = !is_skipped;
  for (std::uint32_t i = 0; i < scales; ++i) {
    step_flags shown = step_flags_of(result[i], ranks != nullptr ? &ranks[i] : nullptr, *memory);
    shown.flags |= spikes ? found_by_user : 0u;
    shown.norm_overflows = norm_overflows;
    shown.invalid_numbers = is_invalid;
    const step_outcome outcome = decide(rule, states[i], shown);
    decisions[i].apply = outcome == step_outcome::applied && !is_skipped ? 1u : 0u;
    all_good = all_good && (outcome == step_outcome::applied || outcome == step_outcome::no_gradients);
    if ((mode & decide_scale) != 0) {
      enter(open_steps[i].record, result[i], shown.flags, list);
      // A rank without gradients follows the other ranks.
      if (shown.has_elements && open_steps[i].record.elements == 0) open_steps[i].record.elements = 1;
    } else {
      open_steps[i].record.flags |= shown.flags;
    }
    if (norm_overflows) open_steps[i].norm_overflows = 1;
  }
  const bool is_batch = (mode & decide_micro_batch) != 0, is_good_batch = is_batch && all_good && any_elements;

  for (std::uint32_t i = 0; i < scales; ++i) {
    if ((mode & decide_together) != 0 && !all_good) decisions[i].apply = 0;
    if (is_batch) decisions[i].apply = is_good_batch ? 1u : 0u;
    factor_pair unscale(states[i].scale, factor_kind::divide);
    if ((mode & decide_unscaled) != 0) unscale = factor_pair(1.0f, factor_kind::one);
    decisions[i].unscale_first = unscale.first;
    decisions[i].unscale_second = unscale.second * share;
    decisions[i].clip = clip;
    if (is_step) {
      step_record& record = open_steps[i].record;
      if (!is_entered) record.norm = joint_norm(record.norm, norm);
      if (clip < record.clip) record.clip = clip;
      // A list without gradients of this scale has nothing to apply there, and nothing to skip.
      if (step_flags_of(result[i], ranks != nullptr ? &ranks[i] : nullptr, *memory).has_elements) {
        ++record.lists;
        record.skipped_lists += 1 - decisions[i].apply;
      }
    }
  }
  if (is_good_batch) ++memory->micro_batches;
  if ((mode & decide_mean) != 0) memory->micro_batches = 0;
}

template <reduction_tuning Tuning>
struct inspect_and_decide {
  using total = inspect_total<Tuning>;
  using shared = typename total::shared;

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const chunk_statistics* statistics,
                                         const std::uint64_t* starts, std::uint32_t tensors, inspection* result,
                                         scaler_memory* memory, scale_state* states, open_step* open_steps,
                                         const float* max_norm, float max_norm_value, std::uint32_t mode,
                                         std::uint32_t list, step_decision* decisions) {
    total::run(item, local, statistics, starts, tensors, &states->scale, no_scalar, result);
    if (item.id == 0)
      decide_list(result, nullptr, nullptr, memory, states, open_steps, 1, {max_norm, max_norm_value}, mode, list,
                  decisions);
  }
};

template <scalar_tuning Tuning>
struct decide_gradients {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const inspection* result,
                                         const rank_flags* ranks, scaler_memory* memory, scale_state* states,
                                         open_step* open_steps, std::uint32_t scales, const float* max_norm,
                                         float max_norm_value, std::uint32_t mode, std::uint32_t list,
                                         step_decision* decisions) {
    const open_step* joint = (mode & decide_joint_norm) != 0 ? open_steps : nullptr;
    if (item.id == 0)
      decide_list(result, ranks, joint, memory, states, open_steps, scales, {max_norm, max_norm_value}, mode, list,
                  decisions);
  }
};

template <scalar_tuning Tuning>
struct report_jointly {
  struct shared {};

  /// `given`: decisions of gradients that were decided on before; null if they were not. `report`: bits `report_…`.
  [[gnu::always_inline]] static void run(const work_item& item, shared&, const inspection* result, std::uint32_t scales,
                                         const float* max_norm, float max_norm_value, const step_decision* given,
                                         std::uint32_t report, scaler_memory* memory, open_step* open_steps) {
    if (item.id != 0) return;
    std::uint32_t flags = memory->joint_flags;
    for (std::uint32_t i = 0; i < scales; ++i) {
      flags |= result[i].flags;
      if (given != nullptr && given[i].apply == 0 && result[i].elements != 0) flags |= found_skip;
      wide_sum squares;
      if ((report & report_first) == 0) squares = squares_of(open_steps[i]);
      if ((report & report_squares) != 0) squares.add(squares_of(result[i]));
      open_steps[i].joint_squares = squares.part.sum;
      open_steps[i].joint_squares_lost = squares.part.lost;
      open_steps[i].joint_squares_exponent = squares.exponent;
    }
    const bool has_limit = (report & report_norm) != 0 && scalar_argument{max_norm, max_norm_value}.is_given();
    if (has_limit && !is_finite(norm_of_all(result, nullptr, nullptr, scales))) flags |= found_skip;
    if (has_invalid_numbers(*memory, {max_norm, max_norm_value})) flags |= found_skip;
    memory->joint_flags = flags;
  }
};

/// For gradients that were decided on before: another list of the same joint step may still cause a skip, or their
/// optimizer has thrown.
template <scalar_tuning Tuning>
struct skip_jointly {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, scaler_memory* memory, const rank_flags* ranks,
                                         open_step* open_steps, std::uint32_t scales, step_decision* decisions) {
    const std::uint64_t i = item.global_id<Tuning.group_size>();
    if (i >= scales) return;
    const bool has_failed = (memory->joint_flags & found_failure) != 0;
    const bool is_invalid = ranks != nullptr ? ranks[i].invalid != 0.0f : memory->invalid_numbers != 0;
    const bool is_enabled = memory->rule.mode != scaling_mode::disabled;
    const bool is_bad = memory->joint_flags != 0 || (ranks != nullptr && ranks[i].skipped != 0.0f);
    const bool is_skipped = has_failed || is_invalid || (is_enabled && is_bad);
    if (is_invalid) or_in_device(&memory->invalid_numbers, 1);
    if (is_skipped && decisions[i].apply != 0) {
      decisions[i].apply = 0;
      ++open_steps[i].record.skipped_lists;
      if (has_failed) open_steps[i].has_failed = 1;
    }
  }
};

template <scalar_tuning Tuning>
struct fill_rank_flags {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const inspection* result,
                                         const scaler_memory* memory, const open_step* open_steps, std::uint32_t scales,
                                         const float* max_norm, float max_norm_value, bool jointly,
                                         rank_squares squares, rank_flags* ranks) {
    const std::uint64_t i = item.global_id<Tuning.group_size>();
    if (i >= scales) return;
    const auto flag = [](bool is_set) { return is_set ? 1.0f : 0.0f; };
    rank_flags own{};
    own.inf = flag((result[i].flags & found_inf) != 0);
    own.nan = flag((result[i].flags & found_nan) != 0);
    own.by_user = flag(memory->user_flags != 0);
    own.skipped = flag(jointly && memory->joint_flags != 0);
    own.invalid = flag(has_invalid_numbers(*memory, {max_norm, max_norm_value}));
    own.has_elements = flag(result[i].elements != 0);
    if (squares == rank_squares::list) enter_squares(own, squares_of(result[i]));
    if (squares == rank_squares::joint) enter_squares(own, squares_of(open_steps[i]).folded());
    ranks[i] = own;
  }
};

/// Runs after the decision. Refuses the step if a clip limit or a clip factor is negative or NaN, or if an invalid
/// number was found since.
template <scalar_tuning Tuning>
struct check_limits {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const float* limits, std::uint32_t count,
                                         std::uint32_t stride, scaler_memory* memory, open_step* open_steps,
                                         std::uint32_t scales, step_decision* decisions) {
    if (item.id != 0) return;
    bool all = memory->invalid_numbers == 0;
    for (std::uint32_t i = 0; i < count; ++i) all = all && is_limit(limits[std::uint64_t{i} * stride]);
    if (all) return;
    memory->invalid_numbers = 1;
    for (std::uint32_t i = 0; i < scales; ++i) {
      open_steps[i].record.skipped_lists += decisions[i].apply;
      decisions[i].apply = 0;
    }
  }
};

/// Runs after the results of another queue were copied. That queue may not have known the scale.
template <scalar_tuning Tuning>
struct import_inspection {
  struct shared {};

  /// `states`: of the scales; null if the gradients are not scaled. `invalid`: what the other queue has found out about
  /// its numbers.
  [[gnu::always_inline]] static void run(const work_item& item, shared&, inspection* results, std::uint32_t scales,
                                         const scale_state* states, const std::uint32_t* invalid,
                                         scaler_memory* memory) {
    const std::uint64_t i = item.global_id<Tuning.group_size>();
    if (i >= scales) return;
    if (i == 0 && *invalid != 0) memory->invalid_numbers = 1;
    if (states == nullptr) return;
    const factor_pair unscale(states[i].scale, factor_kind::divide);
    results[i].scale = states[i].scale;
    results[i].unscaled_amax = unscale(results[i].amax);
    if (is_finite(results[i].amax) && !is_finite(results[i].unscaled_amax)) results[i].flags |= found_inf;
  }
};

template <scalar_tuning Tuning>
struct resume_scaling {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, scale_state* states, std::uint32_t scales) {
    const std::uint64_t i = item.global_id<Tuning.group_size>();
    if (i >= scales) return;
    states[i].stopped = 0;
    states[i].skips_in_a_row = 0;
    states[i].nan_skips_in_a_row = 0;
  }
};

template <scalar_tuning Tuning>
struct guard_value {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const float* value, float threshold,
                                         std::uint32_t window, running_value* so_far, std::uint32_t* flags) {
    if (item.id == 0 && is_spike(*value, threshold, window, so_far->mean, so_far->variance, so_far->count))
      *flags |= found_by_user;
  }
};

}  // namespace syclamp::kernels
