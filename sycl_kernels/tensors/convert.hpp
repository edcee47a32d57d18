// SPDX-License-Identifier: Apache-2.0
// convert: out = in · factor, from the type of the one list to that of the other, in FP32 registers.
//
// One kernel for every element-wise operation that has no state: unscale (the factor is 1/S), scale (S), clip (the clip
// coefficient), cast (1), and accumulate, which adds to what is there. The factor is read from device memory.
//
//   convert_list     many work-groups   in, out → out
//   clear_list       many work-groups   → zeros, or nothing where a word in memory says so
#pragma once

#include <type_traits>

#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "sycl_kernels/walk/factor.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

template <streaming_tuning Tuning>
struct convert_list {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const std::uint64_t* in_addresses,
                                         const std::uint32_t* in_kinds, const std::uint64_t* out_addresses,
                                         const std::uint32_t* out_kinds, const std::uint64_t* starts,
                                         std::uint32_t tensors, const float* factors, float factor_value,
                                         factor_kind kind, factor_per per, std::uint32_t stride, bool accumulate,
                                         const std::uint32_t* word, std::uint32_t wanted) {
    constexpr unsigned lanes = Tuning.max_lanes;
    if (word != nullptr && *word != wanted) return;
    const tensor_table table{in_addresses, starts, in_kinds, tensors};
    for_each_piece(item, table, [&](const segment& piece) __attribute__((always_inline)) {
      const stream in{piece.address(), piece.type()};
      const stream out{out_addresses[piece.tensor()], tensor_kind::type(out_kinds[piece.tensor()])};
      const factor_pair factor(factors, factor_value, kind, per, stride, piece);
      const bool aligned = in.is_aligned(lanes) && out.is_aligned(lanes);
      if (out.exists())
        with_streams(in, out, [&](auto from, auto to) __attribute__((always_inline)) {
          convert_piece<lanes>(item, piece, from, to, aligned, factor, kind, accumulate);
        });
    });
  }

 private:
  template <typename In, typename Out>
  struct loaded_pair {
    In in;
    Out out;
  };

  /// If the types are known at compile time, the branches are outside the loop, which doubles the speed on a CPU.
  /// Otherwise they are inside, so that one loop is compiled instead of three.
  template <unsigned Lanes, typename In, typename Out>
  [[gnu::always_inline]] static void convert_piece(const work_item& item, const segment& piece, const In& in,
                                                   const Out& out, bool aligned, const factor_pair& factor,
                                                   factor_kind kind, bool accumulate) {
    if constexpr (std::is_same_v<Out, stream>) {
      for_each_pack<Lanes, Tuning.group_size>(item, piece, aligned, [&](auto place) __attribute__((always_inline)) {
        pack<float, Lanes> x = factor(in.template load<Lanes>(place));
        if (accumulate) x = out.template load<Lanes>(place) + x;
        out.template store<Lanes>(place, x);
      });
    } else {
      const auto read = [&](auto place) __attribute__((always_inline)) { return in.template read<Lanes>(place); };
      const auto each = [&](auto change) __attribute__((always_inline)) {
        for_each_loaded_pack<Lanes, Tuning.group_size, in_flight<In, Lanes>()>(
            item, piece, aligned, read, [&](auto place, auto raw) __attribute__((always_inline)) {
              out.template store<Lanes>(place, change(In::template widen<Lanes>(raw)));
            });
      };
      if (kind == factor_kind::one) {
        each([](auto x) __attribute__((always_inline)) { return x; });
      } else if (!accumulate) {
        each([&](auto x) __attribute__((always_inline)) { return factor(x); });
      } else if constexpr (Out::is_float32) {  // sums are: the host has checked it
        for_each_loaded_pack<Lanes, Tuning.group_size, in_flight<In, Lanes>()>(
            item, piece, aligned,
            [&](auto place) __attribute__((always_inline)) {
              return loaded_pair{in.template read<Lanes>(place), out.template read<Lanes>(place)};
            },
            [&](auto place, auto loaded) __attribute__((always_inline)) {
              out.template store<Lanes>(
                  place, Out::template widen<Lanes>(loaded.out) + factor(In::template widen<Lanes>(loaded.in)));
            });
      }
    }
  }

  template <typename In, unsigned Lanes>
  static constexpr unsigned in_flight() {
    return packs_in_flight(Tuning.bytes_in_flight, Lanes * In::bytes);
  }
};

template <streaming_tuning Tuning>
struct clear_list {
  struct shared {};

  [[gnu::always_inline]] static void run(const work_item& item, shared&, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         const std::uint32_t* words, std::uint32_t stride, std::uint32_t spared) {
    constexpr unsigned lanes = Tuning.max_lanes;
    const tensor_table table{addresses, starts, kinds, tensors};
    for_each_piece(item, table, [&](const segment& piece) __attribute__((always_inline)) {
      if (words != nullptr && words[std::uint64_t{piece.group()} * stride] == spared) return;
      with_format(piece.type(), [&](auto format) __attribute__((always_inline)) {
        using bits = typename decltype(format)::bits;
        auto* target = in_global_memory<bits>(piece.address());
        const bool aligned = piece.is_aligned(lanes * sizeof(bits));
        for_each_pack<lanes, Tuning.group_size>(item, piece, aligned, [&](auto place) __attribute__((always_inline)) {
          place.write(target, pack<bits, lanes>(0));
        });
      });
    });
  }
};

}  // namespace syclamp::kernels
