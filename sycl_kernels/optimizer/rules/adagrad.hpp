// SPDX-License-Identifier: Apache-2.0
// Adagrad (Duchi, Hazan, Singer, 2011), as PyTorch defines it.
//
//   g = g + decay · w        s = s + g²
//   w = w - lr / (1 + (t - 1) · lr_decay) · g / (sqrt(s) + eps)
#pragma once

#include "sycl_kernels/optimizer/apply.hpp"

namespace syclamp::kernels {

struct adagrad_rule {
  static constexpr unsigned states = 1;
  float lr, decay, eps;

  [[gnu::always_inline]] explicit adagrad_rule(const group_step& now)
      : lr(now.lr / __builtin_elementwise_fma(static_cast<float>(now.number - 1), now.hyper.lr_decay, 1.0f)),
        decay(now.decay_of_gradient()),
        eps(now.hyper.eps) {}

  template <typename V>
  [[gnu::always_inline]] void operator()(V g, V& w, V* state) const {
    g = __builtin_elementwise_fma(V(decay), w, g);
    state[0] = __builtin_elementwise_fma(g, g, state[0]);
    w = __builtin_elementwise_fma(V(-lr), g / (__builtin_elementwise_sqrt(state[0]) + eps), w);
  }
};

template <apply_tuning Tuning>
struct adagrad_step : apply_list<adagrad_rule, Tuning> {};

}  // namespace syclamp::kernels
