// SPDX-License-Identifier: Apache-2.0
// RMSprop (Hinton, 2012), as PyTorch defines it; centred by Graves (2013).
//
//   g = g + decay · w        v = α v + (1 - α) g²
//   a = α a + (1 - α) g      centred: v - a² instead of v below
//   b = μ b + g / (sqrt(v) + eps)
//   w = w - lr · b
//
// Without momentum μ = 0, so that b is the direction itself and is not stored.
#pragma once

#include "sycl_kernels/optimizer/apply.hpp"

namespace syclamp::kernels {

template <bool Centered, bool Momentum>
struct rmsprop_rule {
  static constexpr unsigned states = 1 + (Momentum ? 1 : 0) + (Centered ? 1 : 0);
  decay_rate alpha;
  float lr, decay, eps, momentum;

  [[gnu::always_inline]] explicit rmsprop_rule(const group_step& now)
      : alpha(now.hyper.beta2),
        lr(now.lr),
        decay(now.decay_of_gradient()),
        eps(now.hyper.eps),
        momentum(now.hyper.momentum) {}

  template <typename V>
  [[gnu::always_inline]] void operator()(V g, V& w, V* state) const {
    g = __builtin_elementwise_fma(V(decay), w, g);
    state[0] = __builtin_elementwise_fma(V(alpha.value), state[0], alpha.complement * g * g);
    V variance = state[0];
    if constexpr (Centered) {
      V& mean = state[states - 1];
      mean = __builtin_elementwise_fma(V(alpha.value), mean, alpha.complement * g);
      variance = __builtin_elementwise_fma(-mean, mean, variance);
      variance = variance > V(0.0f) ? variance : V(0.0f);  // which rounding may have made negative
    }
    V direction = g / (__builtin_elementwise_sqrt(variance) + eps);
    if constexpr (Momentum) direction = state[1] = __builtin_elementwise_fma(V(momentum), state[1], direction);
    w = __builtin_elementwise_fma(V(-lr), direction, w);
  }
};

template <apply_tuning Tuning>
struct rmsprop_step : apply_list<rmsprop_rule<false, false>, Tuning> {};

template <apply_tuning Tuning>
struct rmsprop_momentum_step : apply_list<rmsprop_rule<false, true>, Tuning> {};

template <apply_tuning Tuning>
struct rmsprop_centered_step : apply_list<rmsprop_rule<true, false>, Tuning> {};

template <apply_tuning Tuning>
struct rmsprop_centered_momentum_step : apply_list<rmsprop_rule<true, true>, Tuning> {};

}  // namespace syclamp::kernels
