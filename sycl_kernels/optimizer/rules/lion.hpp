// SPDX-License-Identifier: Apache-2.0
// Lion (Chen et al.: Symbolic discovery of optimization algorithms, 2023).
//
//   w = w - lr · (sign(β1 m + (1 - β1) g) + decay · w)
//   m = β2 m + (1 - β2) g
#pragma once

#include "sycl_kernels/optimizer/apply.hpp"

namespace syclamp::kernels {

struct lion_rule {
  static constexpr unsigned states = 1;
  decay_rate beta1, beta2;
  float lr, weight_decay;

  [[gnu::always_inline]] explicit lion_rule(const group_step& now)
      : beta1(now.hyper.beta1), beta2(now.hyper.beta2), lr(now.lr), weight_decay(now.decay_of_weights()) {}

  template <typename V>
  [[gnu::always_inline]] void operator()(V g, V& w, V* state) const {
    V& m = state[0];
    const V c = __builtin_elementwise_fma(V(beta1.value), m, beta1.complement * g);
    const V step = c > V(0.0f) ? V(lr) : c < V(0.0f) ? V(-lr) : V(0.0f);
    w -= __builtin_elementwise_fma(V(weight_decay), w, step);
    m = __builtin_elementwise_fma(V(beta2.value), m, beta2.complement * g);
  }
};

template <apply_tuning Tuning>
struct lion_step : apply_list<lion_rule, Tuning> {};

}  // namespace syclamp::kernels
