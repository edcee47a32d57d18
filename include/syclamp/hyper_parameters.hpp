// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an optimizer knows of a group of parameters, as it lies in device memory.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// A decay rate β with all that kernels need of it, each number rounded from double by itself: for β = 0.999 the FP32
/// difference 1 - β would be wrong by 1e-5, and so would 1 - β^t of the first steps.
struct decay_rate {
  float value = 0.0f;       ///< β
  float complement = 1.0f;  ///< 1 - β; for SGD, 1 - dampening
  float logarithm = 0.0f;   ///< log β, -Inf for 0: 1 - β^t is -expm1(t · log β)
};

/// The hyper-parameters of one group; every optimizer reads those that it has. Kernels of your own may change them on
/// the device between two steps (`fused_optimizer::device_hyper_parameters`).
struct hyper_parameters {
  float lr = 0.0f;
  float weight_decay = 0.0f;
  float eps = 0.0f;
  decay_rate beta1 = {};        ///< of the first moment; momentum and dampening of SGD
  decay_rate beta2 = {};        ///< of the second moment; alpha of RMSprop, rho of Adadelta
  float momentum = 0.0f;        ///< of RMSprop
  float lr_decay = 0.0f;        ///< of Adagrad
  std::uint32_t maximize = 0;   ///< these are flags, 0 or 1
  std::uint32_t decoupled = 0;  ///< weights decay by themselves, not by way of the gradient
  std::uint32_t nesterov = 0;
};

/// How the learning rate changes with the number of applied steps t (skipped ones do not count): lr · factor(t), the
/// first step being t = 0.
struct lr_schedule {
  enum class shape : std::uint32_t {
    constant,  ///< 1
    cosine,    ///< from 1 down to `lowest` by half a turn of a cosine, in `steps` steps
    decay,     ///< gamma^⌊t / steps⌋
  };

  shape kind = shape::constant;
  float gamma = 0.1f;         ///< of `decay`
  float lowest = 0.0f;        ///< of `cosine`
  std::uint64_t warm_up = 0;  ///< before that: (t + 1) / warm_up, for so many steps; they do not count for what follows
  std::uint64_t steps = 1;
};

}  // namespace SYCLAMP_NAMESPACE
