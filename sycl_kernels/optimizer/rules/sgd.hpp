// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent, with and without momentum, as PyTorch defines it.
//
//   g = g + decay · w
//   b = μ b + (1 - dampening) g, in the first step b = g       with momentum
//   w = w - lr · (g, or b, or with Nesterov's momentum g + μ b)
#pragma once

#include "sycl_kernels/optimizer/apply.hpp"

namespace syclamp::kernels {

template <bool Momentum>
struct sgd_rule {
  static constexpr unsigned states = Momentum ? 1 : 0;
  float lr, decay, momentum, fresh, of_gradient, of_momentum;

  /// Two factors select the direction, so that there is no branch.
  [[gnu::always_inline]] explicit sgd_rule(const group_step& now)
      : lr(now.lr),
        decay(now.decay_of_gradient()),
        momentum(now.hyper.beta1.value),
        fresh(now.number == 1 ? 1.0f : now.hyper.beta1.complement),
        of_gradient(now.hyper.nesterov != 0 ? 1.0f : 0.0f),
        of_momentum(now.hyper.nesterov != 0 ? momentum : 1.0f) {}

  template <typename V>
  [[gnu::always_inline]] void operator()(V g, V& w, V* state) const {
    g = __builtin_elementwise_fma(V(decay), w, g);
    V direction = g;
    if constexpr (Momentum) {
      state[0] = __builtin_elementwise_fma(V(momentum), state[0], fresh * g);
      direction = __builtin_elementwise_fma(V(of_gradient), g, of_momentum * state[0]);
    }
    w = __builtin_elementwise_fma(V(-lr), direction, w);
  }
};

template <apply_tuning Tuning>
struct sgd_step : apply_list<sgd_rule<false>, Tuning> {};

template <apply_tuning Tuning>
struct momentum_step : apply_list<sgd_rule<true>, Tuning> {};

}  // namespace syclamp::kernels
