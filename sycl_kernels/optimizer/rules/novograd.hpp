// SPDX-License-Identifier: Apache-2.0
// NovoGrad (Ginsburg et al., 2019): the second moment is one number for each tensor.
//
//   v = β2 v + (1 - β2) |g|², in the first step |g|²       norm of the whole tensor
//   m = β1 m + (g / (sqrt(v) + eps) + decay · w)
//   w = w - lr · m
//
// The first pass reads the gradients, the last pass everything. With FP16 gradients and copy, the passes move 2 and 20
// bytes per parameter, 24 with the inspection.
#pragma once

#include "sycl_kernels/optimizer/tensor_norms.hpp"

namespace syclamp::kernels {

struct novograd_part {
  static constexpr unsigned states = 0;
  [[gnu::always_inline]] explicit novograd_part(const group_step&) {}

  template <typename V>
  [[gnu::always_inline]] V operator()(V g, V, V*) const {
    return g;
  }
};

struct novograd_rule {
  static constexpr unsigned states = 1;
  float beta1, lr, decay, fraction;

  [[gnu::always_inline]] novograd_rule(const group_step& now, const tensor_norms& norms)
      : beta1(now.hyper.beta1.value),
        lr(now.lr),
        decay(now.hyper.weight_decay),
        fraction(1.0f / (__builtin_elementwise_sqrt(norms.second) + now.hyper.eps)) {}

  template <typename V>
  [[gnu::always_inline]] void operator()(V g, V& w, V* state) const {
    const V direction = __builtin_elementwise_fma(V(decay), w, g * fraction);
    state[0] = __builtin_elementwise_fma(V(beta1), state[0], direction);
    w = __builtin_elementwise_fma(V(-lr), state[0], w);
  }

  [[gnu::always_inline]] static void finish(const group_step& now, const piece_norms& squares, tensor_norms& norms) {
    const decay_rate& beta2 = now.hyper.beta2;
    const float mean = __builtin_elementwise_fma(beta2.value, norms.second, beta2.complement * squares.updates);
    norms.second = now.number == 1 ? squares.updates : mean;
  }
};

template <apply_tuning Tuning>
struct novograd_pieces : prepare_list<novograd_part, Tuning> {};

template <apply_tuning Tuning>
struct novograd_norms : finish_norms<novograd_rule, Tuning> {};

template <apply_tuning Tuning>
struct novograd_step : apply_list<novograd_rule, Tuning> {};

}  // namespace syclamp::kernels
