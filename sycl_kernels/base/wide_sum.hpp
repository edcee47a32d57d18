// SPDX-License-Identifier: Apache-2.0
// Sums that may leave the range of FP32 on the way to a result that does not.
//
// Gradients are squared while they are still scaled. A scale of 2^70 is enough for their sum to overflow, and one of
// 2^-70 for it to vanish, although the norm that follows from it, divided by the scale, is an ordinary number.
#pragma once

#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/shared/maths.hpp"

namespace syclamp::kernels {

/// Between these bounds a sum of squares loses nothing to the range of FP32, and can be added to any number of others.
inline constexpr float small_sum = 0x1p-100f, large_sum = 0x1p100f;

/// One sum unit down, or up. In two factors, because 2^200 is no FP32.
inline float one_unit_down(float x) { return x * 0x1p-100f * 0x1p-100f; }
inline float one_unit_up(float x) { return x * 0x1p100f * 0x1p100f; }

/// The rounding error of a + b, for numbers or for each lane of packs.
template <typename V>
[[gnu::always_inline]] inline V rounding_loss(V a, V b) {
  const V total = a + b, part = total - a;
  return (a - (total - part)) + (b - part);
}

/// A sum and its accumulated rounding error, so that millions of terms add up as exactly as a few.
struct exact_sum {
  float sum = 0, lost = 0;

  [[gnu::always_inline]] void add(const exact_sum& other) {
    lost += other.lost + rounding_loss(sum, other.sum);
    sum += other.sum;
  }

  /// The error of an infinite sum is NaN and is ignored. All NaNs become the same NaN, so that the result does not
  /// depend on the order.
  float value() const {
    const std::uint32_t magnitude = __builtin_bit_cast(std::uint32_t, sum) & 0x7fffffffu;
    const float infinite = magnitude > 0x7f800000u ? __builtin_bit_cast(float, 0x7fc00000u) : sum;
    return magnitude < 0x7f800000u ? sum + lost : infinite;
  }
};

/// The same · 2^exponent, all terms positive, so that sums may have any range.
struct wide_sum {
  exact_sum part;
  std::int32_t exponent = 0;  ///< a multiple of `sum_unit`

  [[gnu::always_inline]] void add(wide_sum other) {
    if (other.part.sum == 0.0f) return;
    if (part.sum == 0.0f) exponent = other.exponent;
    const std::int32_t common = exponent > other.exponent ? exponent : other.exponent;
    move_up_to(common);
    other.move_up_to(common);
    part.add(other.part);
    if (part.sum >= large_sum && is_finite(part.sum)) move_up_to(exponent + sum_unit);
  }

  /// With what was lost; with exponent 0 if that is a normal FP32.
  [[gnu::always_inline]] wide_sum folded() const {
    const float all = part.value();
    if (!is_finite(all)) return {{all, 0}, 0};
    if (exponent > 0 && all < 0x1p-73f) return {{one_unit_up(all), 0}, exponent - sum_unit};
    if (exponent < 0 && all >= 0x1p74f) return {{one_unit_down(all), 0}, exponent + sum_unit};
    return {{all, 0}, exponent};
  }

 private:
  /// Converts the sum to a larger unit. The bits lost are below the rounding error of any sum that needs that unit. Two
  /// units up, the sum becomes 0.
  [[gnu::always_inline]] void move_up_to(std::int32_t target) {
    const float step = target == exponent ? 1.0f : target == exponent + sum_unit ? 0x1p-100f : 0.0f;
    part.sum = part.sum * step * step;
    part.lost = part.lost * step * step;
    exponent = target;
  }
};

}  // namespace syclamp::kernels
