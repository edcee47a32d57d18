// SPDX-License-Identifier: Apache-2.0
// cast: out = in · factor, with a choice of rounding: to nearest or stochastic, and overflow to Inf or to the largest
// number. Counts the elements that overflow.
//
//   cast_list   many work-groups   in → out, count of saturated elements
//
// The plain cast, to nearest and to Inf, is convert_list.
#pragma once

#include "sycl_kernels/base/counter.hpp"
#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/base/random.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/walk/factor.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

template <streaming_tuning Tuning>
struct cast_list {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const std::uint64_t* in_addresses,
                                         const std::uint32_t* in_kinds, const std::uint64_t* out_addresses,
                                         const std::uint32_t* out_kinds, const std::uint64_t* starts,
                                         std::uint32_t tensors, const float* scales, factor_kind kind, bool saturate,
                                         bool stochastic, std::uint64_t seed, const std::uint64_t* step,
                                         std::uint64_t* saturated) {
    const tensor_table table{in_addresses, starts, in_kinds, tensors};
    for_each_piece(item, table, [&](const segment& piece) __attribute__((always_inline)) {
      const stream in{piece.address(), piece.type()};
      const stream out{out_addresses[piece.tensor()], tensor_kind::type(out_kinds[piece.tensor()])};
      const factor_pair factor(scales, 1.0f, kind, factor_per::tensor, 1, piece);
      const random_stream noise(seed, step != nullptr ? *step : 0, piece.tensor());
      const bool aligned = in.is_aligned(lanes) && out.is_aligned(lanes);
      words over = 0;  // overflows, counted per lane
      if (out.exists())
        for_each_pack<lanes, Tuning.group_size>(item, piece, aligned, [&](auto place) __attribute__((always_inline)) {
          const pack<float, lanes> x = factor(in.load<lanes>(place));
          words random = 0;
          if (stochastic) random = noise.words<lanes>(place.first);
          over += store(out, place, x, random, saturate, stochastic);
        });
      if (saturated != nullptr) add_in_device(saturated, sum_lanes<std::uint32_t, lanes>(over));
    });
  }

 private:
  static constexpr unsigned lanes = Tuning.max_lanes;
  using words = pack<std::uint32_t, lanes>;

  /// Rounds and writes a pack. Returns 1 in each lane that overflowed.
  template <typename Place>
  [[gnu::always_inline]] static words store(const stream& out, const Place& place, pack<float, lanes> x, words random,
                                            bool saturate, bool stochastic) {
    words over = 0;
    with_format(out.type, [&](auto format) __attribute__((always_inline)) {
      using number = decltype(format);
      if constexpr (requires { number::template narrow<lanes>(x); }) {  // FP64 is never written
        words pattern = to_pattern<number>(x, random, stochastic);
        over = bound<number>(pattern, __builtin_bit_cast(words, x), saturate);
        place.write(in_global_memory<typename number::bits>(out.address),
                    __builtin_convertvector(pattern, pack<typename number::bits, lanes>));
      }
    });
    return over;
  }

  template <typename Out>
  [[gnu::always_inline]] static words to_pattern(pack<float, lanes> x, words random, bool stochastic) {
    if constexpr (requires { Out::shape; }) {  // not FP32, where there is nothing to round
      if (stochastic) return round_to<Out>(__builtin_bit_cast(words, x), at_random<words>{random});
    }
    return __builtin_convertvector(Out::template narrow<lanes>(x), words);
  }

  /// Returns 1 in each lane outside the format's range. With `saturate`, clamps these lanes to the largest finite
  /// number.
  template <typename Out>
  [[gnu::always_inline]] static words bound(words& pattern, words raw, bool saturate) {
    const words is_number = ones<words>((raw & 0x7fffffffu) <= 0x7f800000u);
    const words is_over = ones<words>((pattern & Out::magnitude) > Out::largest) & is_number;
    if (saturate) pattern = is_over != 0 ? (pattern & (Out::magnitude + 1u)) | Out::largest : pattern;
    return is_over;
  }
};

}  // namespace syclamp::kernels
