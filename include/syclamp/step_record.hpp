// SPDX-License-Identifier: Apache-2.0
/// \file
/// What became of a training step: one line of the ledger.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>
#include <syclamp/inspection.hpp>

namespace SYCLAMP_NAMESPACE {

/// What became of a step.
enum class step_outcome : std::uint32_t {
  applied,             ///< the gradients were finite
  skipped_inf,         ///< an Inf was found: the scale backs off, or hysteresis lets this one pass
  skipped_nan,         ///< NaN but no Inf was found: as above
  skipped_scale_held,  ///< skipped for Inf or NaN, and the policy has decided that a smaller scale would not help
  stopped,             ///< the policy has given up: nothing is applied until `loss_scaler::resume`
  skipped_by_user,     ///< skipped because the caller or a spike guard has said so, or an optimizer has thrown; no move
  norm_overflow,       ///< every gradient is finite, but their norm is not, and they were to be clipped by it; no move
  skipped_jointly,     ///< its own gradients were finite, but those that go together with them were not
  accumulated,         ///< finite gradients were added to a sum; nothing was to be applied yet
  no_gradients,        ///< there were no gradients: neither a clean step nor a skipped one
  invalid_number,  ///< skipped: a limit in device memory is negative or NaN, or a learning rate is or is infinite; no
                   ///< move
};

/// What the scaler thinks of it.
enum class step_status : std::uint32_t {
  ok,
  at_floor,        ///< an overflow with the scale at its minimum: frameworks throw here, or go on in silence
  nan_persistent,  ///< NaN does not go away with a smaller scale: it is not an overflow, look for its cause
  too_many_skips,  ///< as many skips in a row as `scaling_policy::give_up_after`
  norm_overflow,   ///< see the outcome
  stopped,         ///< see the outcome
  invalid_number,  ///< see the outcome
};

/// One step, as the device has recorded it. With several scales there is one record for each of them.
struct SYCLAMP_API step_record {
  std::uint64_t step = 0;      ///< number of the step, the first one is 1: steps attempted so far
  std::uint64_t applied = 0;   ///< steps applied so far: what learning-rate schedules should count
  std::uint64_t skipped = 0;   ///< steps skipped so far
  std::uint64_t elements = 0;  ///< gradients that were looked at; the next four are counts of them
  std::uint64_t inf_count = 0;
  std::uint64_t nan_count = 0;
  std::uint64_t zero_count = 0;
  std::uint64_t subnormal_count = 0;
  std::uint64_t first_nonfinite_tensor = no_element;  ///< index in its list of the first tensor with an Inf or NaN
  std::uint64_t first_nonfinite = no_element;         ///< index of the element
  std::uint32_t first_nonfinite_list = 0;  ///< which of the lists that the scaler knows, in order of first use
  std::uint32_t scale_index = 0;           ///< which of the scaler's scales
  std::uint32_t flags = found_nothing;     ///< OR of `gradient_flag` bits
  step_outcome outcome = step_outcome::no_gradients;
  step_status status = step_status::ok;
  std::uint32_t skips_in_a_row = 0;
  std::uint32_t retry = 0;          ///< 1: the same batch is to be tried again, at `next_scale`; nothing was consumed
  std::uint32_t lists = 0;          ///< how many lists of gradients (optimizers) have gradients of this scale
  std::uint32_t skipped_lists = 0;  ///< how many of them were not applied
  float scale = 1.0f;               ///< by which the loss of this step was multiplied
  float next_scale = 1.0f;          ///< by which the next one will be
  float norm = 0.0f;                ///< L2 norm of the unscaled gradients, over all of them
  float clip = 1.0f;                ///< smallest clip coefficient of the step
  float amax = 0.0f;                ///< largest absolute value of the scaled gradients
  float amax_limit = 65504.0f;      ///< of which headroom is counted: `scaling_policy::amax_limit`
  std::uint32_t unused = 0;

  constexpr bool was_applied() const { return outcome == step_outcome::applied; }

  /// How often the gradients of the step could have been doubled: log2(amax_limit / amax). +Inf if all were zero, NaN
  /// if one was not finite. For the host.
  double headroom() const;
};
static_assert(sizeof(step_record) == 144, "no padding: records are compared bit by bit");

/// `applied`, `skipped_inf`, …
SYCLAMP_API const char* to_string(step_outcome outcome);
/// `ok`, `at_floor`, …
SYCLAMP_API const char* to_string(step_status status);

}  // namespace SYCLAMP_NAMESPACE
