// SPDX-License-Identifier: Apache-2.0
// Adadelta (Zeiler, 2012), with a learning rate and weight decay, as PyTorch defines it.
//
//   g = g + decay · w        v = ρ v + (1 - ρ) g²
//   d = sqrt(u + eps) / sqrt(v + eps) · g
//   u = ρ u + (1 - ρ) d²
//   w = w - lr · d
#pragma once

#include "sycl_kernels/optimizer/apply.hpp"

namespace syclamp::kernels {

struct adadelta_rule {
  static constexpr unsigned states = 2;
  float rho, fresh, lr, decay, eps;

  [[gnu::always_inline]] explicit adadelta_rule(const group_step& now)
      : rho(now.hyper.beta2.value),
        fresh(now.hyper.beta2.complement),
        lr(now.lr),
        decay(now.decay_of_gradient()),
        eps(now.hyper.eps) {}

  template <typename V>
  [[gnu::always_inline]] void operator()(V g, V& w, V* state) const {
    V &v = state[0], &u = state[1];
    g = __builtin_elementwise_fma(V(decay), w, g);
    v = __builtin_elementwise_fma(V(rho), v, fresh * g * g);
    // One root of the quotient would be less work, but the quotient may be too small for FP32.
    const V d = __builtin_elementwise_sqrt(u + eps) / __builtin_elementwise_sqrt(v + eps) * g;
    u = __builtin_elementwise_fma(V(rho), u, fresh * d * d);
    w = __builtin_elementwise_fma(V(-lr), d, w);
  }
};

template <apply_tuning Tuning>
struct adadelta_step : apply_list<adadelta_rule, Tuning> {};

}  // namespace syclamp::kernels
