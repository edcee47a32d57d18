// SPDX-License-Identifier: Apache-2.0
/// \file
/// Hyper-parameters of a parameter group, as they are stored in device memory.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// A decay rate β, with 1 - β and log β. Each number is rounded from double separately. For β = 0.999, computing 1 - β
/// in FP32 would give a relative error of 1e-5, and so would 1 - β^t in the first steps.
struct decay_rate {
  float value = 0.0f;       ///< β
  float complement = 1.0f;  ///< 1 - β; for SGD, 1 - dampening
  float logarithm = 0.0f;   ///< log β, -Inf for 0: 1 - β^t is -expm1(t · log β)
};

/// The hyper-parameters of one group. Each optimizer reads those that it uses. Your kernels may change them on the
/// device between two steps (`fused_optimizer::device_hyper_parameters`).
struct hyper_parameters {
  float lr = 0.0f;              ///< learning rate, before the schedule
  float weight_decay = 0.0f;    ///< weight decay
  float eps = 0.0f;             ///< added to a denominator
  decay_rate beta1 = {};        ///< of the first moment; momentum and dampening of SGD
  decay_rate beta2 = {};        ///< of the second moment; alpha of RMSprop, rho of Adadelta
  float momentum = 0.0f;        ///< of RMSprop
  float lr_decay = 0.0f;        ///< of Adagrad
  std::uint32_t maximize = 0;   ///< 1: maximizes the loss instead of minimizing it
  std::uint32_t decoupled = 0;  ///< 1: weight decay acts on the weights directly (AdamW), not through the gradient
  std::uint32_t nesterov = 0;   ///< 1: Nesterov's momentum
};

/// A learning-rate schedule: the learning rate of a step is lr · factor(t), where t is the number of steps applied
/// before it. Skipped steps do not count.
struct lr_schedule {
  /// The factor after the warm-up.
  enum class shape : std::uint32_t {
    constant,  ///< always 1
    cosine,    ///< half a period of a cosine, from 1 down to `lowest` in `steps` steps
    decay,     ///< gamma^⌊t / steps⌋
  };

  shape kind = shape::constant;  ///< shape of the schedule
  float gamma = 0.1f;            ///< for `decay`: factor of each decay
  float lowest = 0.0f;           ///< for `cosine`: final factor
  std::uint64_t warm_up = 0;     ///< linear warm-up over this many steps; the schedule's own step count starts after it
  std::uint64_t steps = 1;       ///< length of the cosine, or number of steps between two decays
};

}  // namespace SYCLAMP_NAMESPACE
