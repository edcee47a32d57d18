// SPDX-License-Identifier: Apache-2.0
// quantize: scales for tensors in FP8 or INT8 from the largest values that they had, and fake quantisation with them.
//
//   update_scales     one work-item per tensor   inspection[] → histories and scales
//   fake_quantize     many work-groups           out = in, rounded to a multiple of the integer step
//   straight_through  many work-groups           gradient of fake_quantize, as if nothing had been rounded
#pragma once

#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/shared/maths.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

template <scalar_tuning Tuning>
struct update_scales {
  struct shared {};

  /// `history` has a row of all tensors for each of the last `length` updates; `rows` tells for each tensor where the
  /// next one goes: the same number for all of them, but each work-item has its own to move, so that none races.
  [[gnu::always_inline]] static void run(const work_item& item, shared&, const inspection* result,
                                         std::uint32_t tensors, const float* limits, bool latest_only,
                                         std::uint32_t length, float* history, std::uint32_t* rows, float* scales) {
    const std::uint64_t tensor = item.global_id<Tuning.group_size>();
    if (tensor >= tensors) return;
    const float amax = result[tensor].amax;
    const bool known = is_finite(amax);
    const std::uint32_t row = rows[tensor];
    history[std::uint64_t{row} * tensors + tensor] = known ? amax : 0.0f;
    rows[tensor] = row + 1 == length ? 0 : row + 1;
    if (!known) return;
    float largest = amax;
    if (!latest_only)
      for (std::uint32_t i = 0; i < length; ++i) {
        const float value = history[std::uint64_t{i} * tensors + tensor];
        largest = value > largest ? value : largest;
      }
    if (largest == 0.0f) return;
    const float scale = limits[tensor] / largest;
    scales[tensor] = !is_finite(scale) ? 0x1.fffffep127f : scale < 0x1p-126f ? 0x1p-126f : scale;
  }

 private:
};

/// To the nearest integer, ties to even, for numbers below 2^22: adding and taking away 1.5 · 2^23 leaves no room for a
/// fraction. Larger ones stay at least as large. A NaN stays one, and what becomes zero keeps its sign.
template <unsigned Lanes>
inline pack<float, Lanes> nearest_integer(pack<float, Lanes> x) {
  using words = pack<std::uint32_t, Lanes>;
  const pack<float, Lanes> rounded = (x + 0x1.8p23f) - 0x1.8p23f;
  const words sign = __builtin_bit_cast(words, x) & 0x80000000u;
  return __builtin_bit_cast(pack<float, Lanes>, __builtin_bit_cast(words, rounded) | sign);
}

template <streaming_tuning Tuning>
struct fake_quantize {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const std::uint64_t* in_addresses,
                                         const std::uint32_t* in_kinds, const std::uint64_t* out_addresses,
                                         const std::uint32_t* out_kinds, const std::uint64_t* starts,
                                         std::uint32_t tensors, const float* scales, const float* limits) {
    constexpr unsigned lanes = Tuning.max_lanes;
    const tensor_table table{in_addresses, starts, in_kinds, tensors};
    for_each_piece(item, table, [&](const segment& piece) __attribute__((always_inline)) {
      const stream in{piece.address(), piece.type()};
      const stream out{out_addresses[piece.tensor()], tensor_kind::type(out_kinds[piece.tensor()])};
      const float limit = limits[piece.tensor()];
      const pack<float, lanes> scale = scales[piece.tensor()], highest = limit, lowest = -limit;
      const bool aligned = in.is_aligned(lanes) && out.is_aligned(lanes);
      if (out.exists())
        for_each_pack<lanes, Tuning.group_size>(item, piece, aligned, [&](auto place) __attribute__((always_inline)) {
          const pack<float, lanes> x = in.load<lanes>(place) * scale;
          const pack<float, lanes> bounded = x > highest ? highest : x < lowest ? lowest : x;
          out.store<lanes>(place, nearest_integer<lanes>(bounded) / scale);
        });
    });
  }
};

template <streaming_tuning Tuning>
struct straight_through {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const std::uint64_t* in_addresses,
                                         const std::uint32_t* in_kinds, const std::uint64_t* gradient_addresses,
                                         const std::uint32_t* gradient_kinds, const std::uint64_t* out_addresses,
                                         const std::uint32_t* out_kinds, const std::uint64_t* starts,
                                         std::uint32_t tensors, const float* scales, const float* limits) {
    constexpr unsigned lanes = Tuning.max_lanes;
    const tensor_table table{in_addresses, starts, in_kinds, tensors};
    for_each_piece(item, table, [&](const segment& piece) __attribute__((always_inline)) {
      const std::uint32_t tensor = piece.tensor();
      const stream in{piece.address(), piece.type()};
      const stream gradient{gradient_addresses[tensor], tensor_kind::type(gradient_kinds[tensor])};
      const stream out{out_addresses[tensor], tensor_kind::type(out_kinds[tensor])};
      const float scale = scales[tensor];
      const pack<float, lanes> limit = limits[tensor];
      const bool aligned = in.is_aligned(lanes) && gradient.is_aligned(lanes) && out.is_aligned(lanes);
      if (gradient.exists() && out.exists())
        for_each_pack<lanes, Tuning.group_size>(item, piece, aligned, [&](auto place) __attribute__((always_inline)) {
          const pack<float, lanes> passed = gradient.load<lanes>(place), none = 0;
          const pack<float, lanes> quantized = nearest_integer<lanes>(in.load<lanes>(place) * scale);
          out.store<lanes>(place, __builtin_elementwise_abs(quantized) <= limit ? passed : none);
        });
    });
  }
};

}  // namespace syclamp::kernels
