// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: the record of a training step, one line of the ledger.
#ifndef SYCLAMP_C_STEP_RECORD_H
#define SYCLAMP_C_STEP_RECORD_H

#include <syclamp/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The outcome of a step: whether it was applied, and if not, why.
typedef int32_t syclamp_step_outcome;
enum {
  SYCLAMP_APPLIED = 0,             ///< the gradients were finite and were applied
  SYCLAMP_SKIPPED_INF = 1,         ///< skipped because of Inf
  SYCLAMP_SKIPPED_NAN = 2,         ///< skipped because of NaN without Inf
  SYCLAMP_SKIPPED_SCALE_HELD = 3,  ///< skipped because of Inf or NaN; the policy holds the scale
  SYCLAMP_STOPPED = 4,             ///< the policy has stopped: nothing is applied until `syclamp_scaler_resume`
  SYCLAMP_SKIPPED_BY_USER = 5,     ///< skipped by the caller or by a spike of the norm; the scale does not move
  SYCLAMP_NORM_OVERFLOW = 6,       ///< all gradients are finite, but the norm for clipping is not
  SYCLAMP_SKIPPED_JOINTLY = 7,     ///< skipped because of gradients of another optimizer or group of the same step
  SYCLAMP_ACCUMULATED = 8,         ///< gradients were added to a sum; nothing was applied yet
  SYCLAMP_NO_GRADIENTS = 9,        ///< there were no gradients
  SYCLAMP_INVALID_NUMBER = 10      ///< a limit or a learning rate in device memory is invalid
};

/// A warning about a step.
typedef int32_t syclamp_step_status;
enum {
  SYCLAMP_STEP_OK = 0,              ///< no warning
  SYCLAMP_STEP_AT_FLOOR = 1,        ///< an overflow with the scale at its minimum
  SYCLAMP_STEP_NAN_PERSISTENT = 2,  ///< NaN persists with smaller scales, so it is not an overflow
  SYCLAMP_STEP_TOO_MANY_SKIPS = 3,  ///< `give_up_after` consecutive skips
  SYCLAMP_STEP_NORM_OVERFLOW = 4,   ///< see SYCLAMP_NORM_OVERFLOW
  SYCLAMP_STEP_STOPPED = 5,         ///< see SYCLAMP_STOPPED
  SYCLAMP_STEP_INVALID_NUMBER = 6   ///< see SYCLAMP_INVALID_NUMBER
};

/// The name of an outcome, such as `skipped_inf`; `unknown` for other numbers.
SYCLAMP_C_API const char* syclamp_step_outcome_name(syclamp_step_outcome outcome);
/// The name of a step's status, such as `at_floor`; `unknown` for other numbers.
SYCLAMP_C_API const char* syclamp_step_status_name(syclamp_step_status status);

/// The record of one step. With several scales there is one record per scale.
typedef struct syclamp_step_record {
  size_t struct_size;               ///< sizeof(syclamp_step_record)
  uint64_t step;                    ///< number of the step, starting at 1
  uint64_t applied;                 ///< steps applied so far
  uint64_t skipped;                 ///< steps skipped so far
  uint64_t elements;                ///< number of inspected gradients
  uint64_t inf_count;               ///< number of Inf among them
  uint64_t nan_count;               ///< number of NaN among them
  uint64_t zero_count;              ///< number of zeros among them
  uint64_t subnormal_count;         ///< number of subnormals among them
  uint64_t first_nonfinite_tensor;  ///< index in its list of the first tensor with an Inf or NaN, or UINT64_MAX
  uint64_t first_nonfinite;         ///< index of the element in that tensor, or UINT64_MAX
  double headroom;                  ///< how often the gradients could have been doubled; NaN if one was not finite
  syclamp_step_outcome outcome;     ///< whether the step was applied, or why not
  syclamp_step_status status;       ///< a warning
  uint32_t first_nonfinite_list;    ///< index of that tensor's list, in the order of first use
  uint32_t scale_index;             ///< index of the scale
  uint32_t flags;                   ///< OR of SYCLAMP_FOUND_… bits
  uint32_t skips_in_a_row;          ///< consecutive skipped steps
  uint32_t retry;                   ///< 1: retry the same batch with `next_scale`
  uint32_t lists;                   ///< number of lists (optimizers) with gradients of this scale
  uint32_t skipped_lists;           ///< number of these lists that were not applied
  float scale;                      ///< scale of this step's loss
  float next_scale;                 ///< scale of the next step's loss
  float norm;                       ///< L2 norm of all unscaled gradients
  float clip;                       ///< smallest clip coefficient of the step
  float amax;                       ///< largest absolute value of the scaled gradients
  float amax_limit;                 ///< field of the policy
  uint32_t reserved;                ///< 0
  char first_nonfinite_name[64];    ///< name of the first tensor with an Inf or NaN, cut to fit; empty if none
} syclamp_step_record;

#ifdef __cplusplus
}
#endif
#endif
