// SPDX-License-Identifier: Apache-2.0
// The values of a group that are constant during a step: learning rate, step number, bias corrections.
#pragma once

#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/base/maths.hpp"
#include "sycl_kernels/shared/optimizer_layout.hpp"

namespace syclamp::kernels {

/// The factor of the learning rate after `applied` steps.
[[gnu::always_inline]] inline float schedule_factor(const lr_schedule& schedule, std::uint64_t applied) {
  if (applied < schedule.warm_up) return static_cast<float>(applied + 1) / static_cast<float>(schedule.warm_up);
  const std::uint64_t since = applied - schedule.warm_up;
  if (schedule.kind == lr_schedule::shape::decay) return power_of(schedule.gamma, since / schedule.steps);
  if (schedule.kind != lr_schedule::shape::cosine) return 1.0f;
  if (since >= schedule.steps) return schedule.lowest;
  // (1 + cos πx) / 2 = sin²(π(1 - x)/2), without a difference of nearly equal numbers.
  const float sine = sine_of_quarters(static_cast<float>(schedule.steps - since) / static_cast<float>(schedule.steps));
  return __builtin_elementwise_fma(1.0f - schedule.lowest, sine * sine, schedule.lowest);
}

/// The learning rate before the schedule: the caller's, in device memory, or the group's.
[[gnu::always_inline]] inline float rate_of(const parameter_group& group) {
  return group.lr != 0 ? *in_global_memory<const float>(group.lr) : group.hyper.lr;
}

/// The step that a group is about to take.
struct group_step {
  const hyper_parameters& hyper;
  float lr;              ///< by the schedule
  std::uint64_t number;  ///< 1 for the first

  [[gnu::always_inline]] explicit group_step(const parameter_group& group)
      : hyper(group.hyper),
        lr(rate_of(group) * schedule_factor(group.schedule, group.applied)),
        number(group.applied + 1) {}

  /// 1 - β^t, by which a moment is divided because it began with 0.
  [[gnu::always_inline]] float bias(const decay_rate& beta) const {
    return -expm1_of(static_cast<float>(number) * beta.logarithm);
  }

  /// Weight decay as a part of the gradient, and as a part of the step: one of them is 0.
  float decay_of_gradient() const { return hyper.decoupled != 0 ? 0.0f : hyper.weight_decay; }
  float decay_of_weights() const { return hyper.decoupled != 0 ? lr * hyper.weight_decay : 0.0f; }
};

}  // namespace syclamp::kernels
