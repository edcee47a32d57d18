// SPDX-License-Identifier: Apache-2.0
// convert: out = in · factor, from the type of the one list to that of the other, in FP32 registers.
//
// One kernel for every element-wise operation that has no state: unscale (the factor is 1/S), scale (S), clip (the clip
// coefficient), cast (1), and accumulate, which adds to what is there. The factor is read from device memory.
//
//   convert_list     many work-groups   in, out → out
//   clear_list       many work-groups   → zeros, or nothing, as an inspection tells
#pragma once

#include "format.hpp"
#include "layout.hpp"
#include "pack.hpp"
#include "segment.hpp"
#include "work_group.hpp"

namespace syclamp::kernels {

/// A factor as two, one after the other: where 1/S alone would be subnormal, each of them is a normal number, and for a
/// power of two both products are exact.
struct factor_pair {
  float first, second;

  factor_pair(const float* scalar, factor_kind kind) : first(1.0f), second(1.0f) {
    if (kind == factor_kind::one) return;
    const float value = *scalar;
    if (kind == factor_kind::multiply) {
      first = value;
      return;
    }
    first = value >= 0x1p100f ? 0x1p-64f : 1.0f;
    second = 1.0f / (value * first);
  }

  template <typename V>
  V operator()(V x) const {
    return x * first * second;
  }
};

template <unsigned PackBytes, unsigned GroupSize>
struct convert_list {
  struct shared {};

  [[gnu::always_inline]] static void run(sycl::nd_item<1> item, shared&, const std::uint64_t* in_addresses,
                                         const std::uint32_t* in_kinds, const std::uint64_t* out_addresses,
                                         const std::uint32_t* out_kinds, const std::uint64_t* starts,
                                         std::uint32_t tensors, const float* scalar, factor_kind kind, bool accumulate,
                                         const inspection* skip_if_bad) {
    if (skip_if_bad != nullptr && skip_if_bad->findings != found_nothing) return;
    const factor_pair factor(scalar, kind);
    const tensor_table table{in_addresses, starts, in_kinds, tensors};
    const chunk_range mine = chunks_of_group(item, chunks_of(starts[tensors]));
    for (std::uint64_t chunk = mine.begin; chunk < mine.end; ++chunk)
      for (segment piece(table, chunk); piece.exists(); piece.next()) {
        const std::uint64_t out_address = out_addresses[piece.tensor()];
        if (out_address == 0) continue;
        with_format(piece.type(), [&](auto in) __attribute__((always_inline)) {
          with_format(tensor_kind::type(out_kinds[piece.tensor()]), [&](auto out) __attribute__((always_inline)) {
            using out_bits = typename decltype(out)::bits;
            auto* target = reinterpret_cast<out_bits*>(out_address) + piece.first_element();
            // Unaligned accesses cost a CPU nothing; a GPU goes lane by lane then.
            if (GroupSize > 1 && (piece.address() | out_address) % PackBytes == 0) {
              convert_piece<decltype(in), decltype(out), true>(item, piece, target, factor, accumulate);
            } else {
              convert_piece<decltype(in), decltype(out), false>(item, piece, target, factor, accumulate);
            }
          });
        });
      }
  }

 private:
  template <typename In, typename Out, bool Aligned>
  [[gnu::always_inline]] static void convert_piece(sycl::nd_item<1> item, const segment& piece,
                                                   typename Out::bits* target, const factor_pair& factor,
                                                   bool accumulate) {
    constexpr unsigned lanes = PackBytes / sizeof(typename In::bits);
    const auto* source = piece.data<In>();
    const std::uint32_t packs = piece.count() / lanes, rest = piece.count() % lanes;
    const std::uint32_t first = first_pack<GroupSize, lanes>(item, piece);
    if (accumulate) {
      for (std::uint32_t i = first; i < packs; i += GroupSize)
        store_pack<lanes, Aligned>(
            target, i,
            Out::template narrow<lanes>(Out::template widen<lanes>(load_pack<lanes, Aligned>(target, i)) +
                                        factor(In::template widen<lanes>(load_pack<lanes, Aligned>(source, i)))));
    } else {
      for (std::uint32_t i = first; i < packs; i += GroupSize)
        store_pack<lanes, Aligned>(
            target, i,
            Out::template narrow<lanes>(factor(In::template widen<lanes>(load_pack<lanes, Aligned>(source, i)))));
    }
    if (rest == 0 || first != packs % GroupSize) return;
    source += packs * lanes;
    target += packs * lanes;
    pack<float, lanes> value = factor(In::template widen<lanes>(load_tail<lanes>(source, rest)));
    if (accumulate) value = Out::template widen<lanes>(load_tail<lanes>(target, rest)) + value;
    store_tail<lanes>(target, rest, Out::template narrow<lanes>(value));
  }
};

template <unsigned PackBytes, unsigned GroupSize>
struct clear_list {
  struct shared {};

  [[gnu::always_inline]] static void run(sycl::nd_item<1> item, shared&, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         const inspection* only_if_bad) {
    if (only_if_bad != nullptr && only_if_bad->findings == found_nothing) return;
    const tensor_table table{addresses, starts, kinds, tensors};
    const chunk_range mine = chunks_of_group(item, chunks_of(starts[tensors]));
    for (std::uint64_t chunk = mine.begin; chunk < mine.end; ++chunk)
      for (segment piece(table, chunk); piece.exists(); piece.next())
        with_format(piece.type(), [&](auto format) __attribute__((always_inline)) {
          using bits = typename decltype(format)::bits;
          constexpr unsigned lanes = PackBytes / sizeof(bits);
          auto* target = const_cast<bits*>(piece.data<decltype(format)>());
          const std::uint32_t packs = piece.count() / lanes, first = first_pack<GroupSize, lanes>(item, piece);
          const pack<bits, lanes> zeros = 0;
          if (GroupSize > 1 && piece.is_aligned(PackBytes)) {
            for (std::uint32_t i = first; i < packs; i += GroupSize) store_pack<lanes, true>(target, i, zeros);
          } else {
            for (std::uint32_t i = first; i < packs; i += GroupSize) store_pack<lanes, false>(target, i, zeros);
          }
          if (first == packs % GroupSize)
            for (std::uint32_t i = packs * lanes; i < piece.count(); ++i) target[i] = 0;
        });
  }
};

}  // namespace syclamp::kernels
