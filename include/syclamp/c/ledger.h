// SPDX-License-Identifier: Apache-2.0
/// \file
/// C interface: ledgers as text, and policies applied to a recorded run.
#ifndef SYCLAMP_C_LEDGER_H
#define SYCLAMP_C_LEDGER_H

#include <syclamp/c/base.h>
#include <syclamp/c/policy.h>
#include <syclamp/c/step_record.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Text formats of a ledger.
typedef int32_t syclamp_ledger_format;
enum {
  SYCLAMP_LEDGER_CSV = 0,        ///< a line of column names, then one line per step
  SYCLAMP_LEDGER_JSON_LINES = 1  ///< one JSON object per line
};

/// Reads the text of a ledger in either format, such as that of `syclamp_scaler_ledger_text`. Inf is read as NaN.
/// \param text      the whole text
/// \param records   an array of `capacity` records, or null; set `struct_size` of the first one
/// \param capacity  number of records that fit; later ones are left out
/// \param count     receives the number of records in the text; may be null
SYCLAMP_C_API syclamp_status syclamp_ledger_read(const char* text, syclamp_step_record* records, size_t capacity,
                                                 size_t* count);

/// The result of applying a policy to a recorded run.
typedef struct syclamp_replay_report {
  size_t struct_size;       ///< sizeof(syclamp_replay_report)
  uint64_t steps;           ///< steps of the ledger that had gradients
  uint64_t skips;           ///< skipped steps with the policy
  uint64_t recorded_skips;  ///< skipped steps in the ledger
  double zero_share;        ///< share of gradients that were zero when they were recorded
  double subnormal_share;   ///< share of gradients that were subnormal when they were recorded
  float final_scale;        ///< scale after the last step
  float max_safe_scale;     ///< largest power of two with which no recorded step is known to overflow
} syclamp_replay_report;

/// Applies a policy to a recorded ledger, on the host. A step overflows if its largest gradient, rescaled to the
/// policy's scale, exceeds `amax_limit`. A recorded step with Inf or NaN overflows at its recorded scale and above.
/// \param text      the ledger, oldest step first
/// \param policy    the policy; null: the default policy
/// \param report    receives the result
/// \param results   an array of `capacity` results, one per step with gradients, or null; set `struct_size` of the
///                  first one
/// \param capacity  number of results that fit; later ones are left out
SYCLAMP_C_API syclamp_status syclamp_ledger_replay(const char* text, const syclamp_policy* policy,
                                                   syclamp_replay_report* report, syclamp_simulated_step* results,
                                                   size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
