// SPDX-License-Identifier: Apache-2.0
// Records in memory for the kernels of the scaler.
// Host code includes this file as well, so it knows nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/scale_state.hpp>
#include <syclamp/step_decision.hpp>
#include <syclamp/step_record.hpp>

#include "sycl_kernels/shared/fnv.hpp"
#include "sycl_kernels/shared/scale_rule.hpp"

namespace syclamp::kernels {

/// The part of a scaler's state that all of its scales share.
struct scaler_memory {
  scaling_rule rule;
  std::uint32_t user_flags;     ///< not 0: the caller wants the step to be skipped
  std::uint32_t joint_flags;    ///< of optimizers that step together
  std::uint32_t micro_batches;  ///< added to the sums of an accumulation window so far
  std::uint32_t tickets;        ///< of work-groups that are done with a kernel; 0 between kernels
  /// Not 0: a limit or a learning rate in device memory was invalid (negative or NaN), so the step is not applied.
  std::uint32_t invalid_numbers;
  std::uint32_t unused;
};

/// The state of an open step; one per scale.
struct open_step {
  step_record record;
  std::uint32_t norm_overflows;
  std::uint32_t has_failed;  ///< 1: an optimizer has thrown, so the step was not fully applied
  /// The sum of squares over all lists of a joint step, scaled: (squares + lost) · 2^exponent.
  float joint_squares, joint_squares_lost;
  std::int32_t joint_squares_exponent;
  std::uint32_t unused;
};

/// Running mean and variance of a value.
struct running_value {
  float mean, variance;
  std::uint32_t count;
};

/// How gradients are decided: bits.
enum decision_mode : std::uint32_t {
  decide_scale = 1,         ///< what is found moves the scale
  decide_apply = 2,         ///< an optimizer is about to apply them
  decide_unscaled = 4,      ///< they are unscaled already
  decide_mean = 8,          ///< they are sums over micro-batches, to be divided by their number
  decide_micro_batch = 16,  ///< they are a micro-batch, to be counted if it is good
  decide_together = 32,     ///< one bad scale refuses all of them
  decide_jointly = 64,      ///< `scaler_memory::joint_flags` refuses them, too
  decide_joint_norm = 128,  ///< the norm that counts is that of all lists of the joint step
  decide_norm_known = 256,  ///< with `decide_joint_norm`: another list has entered that norm into the record
};

/// Bits: what a list of a joint step contributes besides its flags.
enum joint_report : std::uint32_t {
  report_first = 1,    ///< it is the first list: the sums start at 0
  report_squares = 2,  ///< its squares are added to those of the others
  report_norm = 4,     ///< it is clipped by its own norm: one that is not finite refuses the joint step
};

/// Which squares a rank contributes to a consensus: none, those of the list, or those of all lists of a joint step.
enum class rank_squares : std::uint32_t { none, list, joint };

/// A bit of `joint_flags` beside those of `gradient_flag`: refused for another reason.
inline constexpr std::uint32_t found_skip = 1u << 31;
/// Likewise: an optimizer has thrown.
inline constexpr std::uint32_t found_failure = 1u << 30;

/// The contribution of one rank to a consensus, per scale. The sums over all ranks decide.
struct rank_flags {
  float inf, nan, by_user;  ///< 1 if it was found
  float skipped;            ///< 1 if it is to be skipped for others that it goes together with
  float invalid;            ///< 1 if a limit or a learning rate of this rank is no usable number
  float has_elements;       ///< 1 if there were gradients
  /// The sum of squares of the scaled gradients, in one of three units, so that sums of many ranks stay in range.
  float small_squares, squares, large_squares;
};
inline constexpr std::uint32_t rank_flag_count = sizeof(rank_flags) / sizeof(float);

/// A record of the ledger where the host can see it while it is written: whole if number and check sum are right.
struct ledger_slot {
  std::uint64_t number;  ///< how many records there were so far, this one included; 0: none yet, or being written
  std::uint64_t check;
  step_record record;
};
inline constexpr std::uint32_t record_words = sizeof(step_record) / sizeof(std::uint32_t);

/// The checksum of a record begins with its number.
inline std::uint64_t first_check(std::uint64_t number) {
  return fnv_sum(fnv_sum(fnv_basis, static_cast<std::uint32_t>(number)), static_cast<std::uint32_t>(number >> 32));
}

}  // namespace syclamp::kernels
