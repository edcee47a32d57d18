// SPDX-License-Identifier: Apache-2.0
// Adam (Kingma, Ba: Adam, 2015) and AdamW (Loshchilov, Hutter: Decoupled weight decay regularization, 2019), with
// AMSGrad (Reddi, Kale, Kumar, 2018): the largest second moment so far instead of the second moment.
//
//   g = g + decay · w                                       Adam
//   m = β1 m + (1 - β1) g        v = β2 v + (1 - β2) g²      v' = max(v', v)
//   w = w - lr · decay · w - lr / (1 - β1^t) · m / (sqrt(v / (1 - β2^t)) + eps)     decay here: AdamW
#pragma once

#include "sycl_kernels/optimizer/apply.hpp"

namespace syclamp::kernels {

template <bool AmsGrad>
struct adam_rule {
  static constexpr unsigned states = AmsGrad ? 3 : 2;
  decay_rate beta1, beta2;
  float gradient_decay, weight_decay, step, eps;

  /// The root of 1 - β2^t is moved out of the fraction, which saves a register.
  [[gnu::always_inline]] explicit adam_rule(const group_step& now)
      : beta1(now.hyper.beta1),
        beta2(now.hyper.beta2),
        gradient_decay(now.decay_of_gradient()),
        weight_decay(now.decay_of_weights()) {
    const float root = __builtin_elementwise_sqrt(now.bias(beta2));
    step = now.lr / now.bias(beta1) * root;
    eps = now.hyper.eps * root;
  }

  template <typename V>
  [[gnu::always_inline]] void operator()(V g, V& w, V* state) const {
    g = __builtin_elementwise_fma(V(gradient_decay), w, g);
    V& m = state[0];
    V& v = state[1];
    m = __builtin_elementwise_fma(V(beta1.value), m, beta1.complement * g);
    v = __builtin_elementwise_fma(V(beta2.value), v, beta2.complement * g * g);
    V largest = v;
    if constexpr (AmsGrad) largest = state[2] = state[2] > v ? state[2] : v;
    const V direction = m / (__builtin_elementwise_sqrt(largest) + eps);
    w -= __builtin_elementwise_fma(V(step), direction, weight_decay * w);
  }
};

template <apply_tuning Tuning>
struct adam_step : apply_list<adam_rule<false>, Tuning> {};

}  // namespace syclamp::kernels
