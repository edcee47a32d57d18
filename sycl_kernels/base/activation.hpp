// SPDX-License-Identifier: Apache-2.0
// Activations and their derivatives, on packs.
#pragma once

#include "sycl_kernels/base/maths.hpp"
#include "sycl_kernels/base/pack.hpp"
#include "sycl_kernels/shared/layout.hpp"

namespace syclamp::kernels {

/// The argument of GELU's sigmoid: 2 √(2/π) (x + 0.044715 x³). x is clamped to ±16, where the sigmoid is 0 or 1,
/// because x³ might overflow.
template <unsigned Lanes>
struct gelu_argument {
  using floats = pack<float, Lanes>;
  static constexpr float outer = 1.59576912f, inner = 0.044715f;
  floats x;

  [[gnu::always_inline]] explicit gelu_argument(floats x)
      : x(x > 16.0f    ? floats(16.0f)
          : x < -16.0f ? floats(-16.0f)
                       : x) {}
  [[gnu::always_inline]] floats value() const { return outer * __builtin_elementwise_fma(inner * x, x * x, x); }
  [[gnu::always_inline]] floats derivative() const {
    return outer * __builtin_elementwise_fma(3.0f * inner * x, x, floats(1.0f));
  }
};

template <unsigned Lanes>
[[gnu::always_inline]] inline pack<float, Lanes> activate(activation kind, pack<float, Lanes> x) {
  using floats = pack<float, Lanes>;
  if (kind == activation::relu) {
    x = x < 0.0f ? floats(0.0f) : x;  // a comparison, unlike max, keeps a NaN
  } else if (kind == activation::gelu) {
    x = x * sigmoid<Lanes>(gelu_argument<Lanes>(x).value());
  } else if (kind == activation::tanh) {
    x = hyperbolic_tangent<Lanes>(x);
  }
  return x;
}

/// The derivative at `x`, the input of the activation. The derivative of ReLU at 0 is 0.
template <unsigned Lanes>
[[gnu::always_inline]] inline pack<float, Lanes> derivative(activation kind, pack<float, Lanes> x) {
  using floats = pack<float, Lanes>;
  floats slope = 1.0f;
  if (kind == activation::relu) {
    slope = x <= 0.0f ? floats(0.0f) : x > 0.0f ? floats(1.0f) : x;  // a NaN stays one
  } else if (kind == activation::gelu) {
    const gelu_argument<Lanes> argument(x);
    const floats s = sigmoid<Lanes>(argument.value());
    slope = __builtin_elementwise_fma(argument.x * s * (1.0f - s), argument.derivative(), s);
  } else if (kind == activation::tanh) {
    const floats y = hyperbolic_tangent<Lanes>(x);
    slope = __builtin_elementwise_fma(-y, y, floats(1.0f));
  }
  return slope;
}

}  // namespace syclamp::kernels
