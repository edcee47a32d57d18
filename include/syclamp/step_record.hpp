// SPDX-License-Identifier: Apache-2.0
/// \file
/// The record of a training step: one line of the ledger.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>
#include <syclamp/inspection.hpp>

namespace SYCLAMP_NAMESPACE {

/// The outcome of a step: whether it was applied, and if not, why.
enum class step_outcome : std::uint32_t {
  applied,             ///< the gradients were finite and were applied
  skipped_inf,         ///< skipped because of Inf: the scale backs off, unless hysteresis tolerates it
  skipped_nan,         ///< skipped because of NaN without Inf: as above
  skipped_scale_held,  ///< skipped because of Inf or NaN; the policy holds the scale, because a smaller one would not
                       ///< help
  stopped,             ///< the policy has stopped: nothing is applied until `loss_scaler::resume`
  skipped_by_user,  ///< skipped by the caller, by a spike guard, or because an optimizer has thrown; the scale does not
                    ///< move
  norm_overflow,    ///< skipped: all gradients are finite, but the norm for clipping is not; the scale does not move
  skipped_jointly,  ///< skipped because of gradients of another optimizer or group of the same step
  accumulated,      ///< finite gradients were added to a sum; nothing was applied yet
  no_gradients,     ///< there were no gradients: neither clean nor skipped
  invalid_number,  ///< skipped: a limit or a learning rate in device memory is negative or NaN, or the learning rate is
                   ///< infinite; the scale does not move
};

/// A warning about a step.
enum class step_status : std::uint32_t {
  ok,              ///< no warning
  at_floor,        ///< an overflow with the scale at its minimum
  nan_persistent,  ///< NaN persists with smaller scales, so it is not an overflow; look for its cause
  too_many_skips,  ///< `scaling_policy::give_up_after` consecutive skips
  norm_overflow,   ///< see `step_outcome::norm_overflow`
  stopped,         ///< see `step_outcome::stopped`
  invalid_number,  ///< see `step_outcome::invalid_number`
};

/// The record of one step, written by the device. With several scales there is one record per scale.
struct SYCLAMP_API step_record {
  std::uint64_t step = 0;             ///< number of the step, starting at 1: steps attempted so far
  std::uint64_t applied = 0;          ///< steps applied so far; learning-rate schedules should use this count
  std::uint64_t skipped = 0;          ///< steps skipped so far
  std::uint64_t elements = 0;         ///< number of inspected gradients
  std::uint64_t inf_count = 0;        ///< number of Inf among them
  std::uint64_t nan_count = 0;        ///< number of NaN among them
  std::uint64_t zero_count = 0;       ///< number of zeros among them
  std::uint64_t subnormal_count = 0;  ///< number of subnormals among them
  std::uint64_t first_nonfinite_tensor = no_element;  ///< index in its list of the first tensor with an Inf or NaN
  std::uint64_t first_nonfinite = no_element;         ///< index of the element within that tensor
  /// Index of that tensor's list, in the order in which the scaler first used the lists.
  std::uint32_t first_nonfinite_list = 0;
  std::uint32_t scale_index = 0;                      ///< index of the scale
  std::uint32_t flags = found_nothing;                ///< OR of `gradient_flag` bits
  step_outcome outcome = step_outcome::no_gradients;  ///< whether the step was applied, or why not
  step_status status = step_status::ok;               ///< a warning
  std::uint32_t skips_in_a_row = 0;                   ///< consecutive skipped steps
  std::uint32_t retry = 0;                            ///< 1: retry the same batch with `next_scale`
  std::uint32_t lists = 0;                            ///< number of lists (optimizers) with gradients of this scale
  std::uint32_t skipped_lists = 0;                    ///< number of these lists that were not applied
  float scale = 1.0f;                                 ///< scale of this step's loss
  float next_scale = 1.0f;                            ///< scale of the next step's loss
  float norm = 0.0f;                                  ///< L2 norm of all unscaled gradients
  float clip = 1.0f;                                  ///< smallest clip coefficient of the step
  float amax = 0.0f;                                  ///< largest absolute value of the scaled gradients
  float amax_limit = 65504.0f;                        ///< `scaling_policy::amax_limit`, for `headroom`
  std::uint32_t unused = 0;                           ///< instead of padding

  /// True if the step was applied.
  constexpr bool was_applied() const { return outcome == step_outcome::applied; }

  /// The headroom: how often the gradients could have been doubled, log2(amax_limit / amax). +Inf if all were zero, NaN
  /// if one was not finite. Callable on the host only.
  double headroom() const;
};
static_assert(sizeof(step_record) == 144, "no padding: records are compared bit for bit");

/// The name of an outcome in files and programs: `applied`, `skipped_inf`, …
SYCLAMP_API const char* to_string(step_outcome outcome);
/// The name of a status in files and programs: `ok`, `at_floor`, …
SYCLAMP_API const char* to_string(step_status status);

}  // namespace SYCLAMP_NAMESPACE
