// SPDX-License-Identifier: Apache-2.0
// Packs: the few neighbouring elements that one work-item handles at a time.
//
// A pack is a clang vector. Every device compiler of SYCL is a clang, and on clang vectors all of them emit full-width
// loads and hardware conversions, which they do not on sycl::vec, sycl::half or arrays of lanes.
//
// No saturating arithmetic on packs of integers: LLVM turns `x > c ? x - c : 0` and `max(x, c) - c` into one operation,
// a saturating subtraction, which Intel's compiler for GPUs (IGC 2.40) cannot emit for vectors and crashes on. Bound an
// operand first and subtract another constant after that: `(c + d) - min(x, c)`. Saturating arithmetic on single
// numbers is fine.
#pragma once

#include <cstdint>
#include <utility>

namespace syclamp::kernels {

template <typename T, unsigned Lanes>
using pack = T __attribute__((ext_vector_type(Lanes)));

/// A pack in memory that is aligned like one of its elements only. GPUs read it lane by lane, CPUs as fast as any.
template <typename T, unsigned Lanes>
struct unaligned_pack {
  // An alias would lose the alignment.
  typedef T type __attribute__((ext_vector_type(Lanes), aligned(sizeof(T))));  // NOLINT(modernize-use-using)
};

/// The `index`-th pack of an array.
template <unsigned Lanes, bool Aligned, typename T>
inline pack<T, Lanes> load_pack(const T* array, std::uint32_t index) {
  if constexpr (Aligned) {
    return reinterpret_cast<const pack<T, Lanes>*>(array)[index];
  } else {
    return reinterpret_cast<const typename unaligned_pack<T, Lanes>::type*>(array)[index];
  }
}

template <unsigned Lanes, bool Aligned, typename T>
inline void store_pack(T* array, std::uint32_t index, pack<T, Lanes> value) {
  if constexpr (Aligned) {
    reinterpret_cast<pack<T, Lanes>*>(array)[index] = value;
  } else {
    reinterpret_cast<typename unaligned_pack<T, Lanes>::type*>(array)[index] = value;
  }
}

/// Lanes up to which a loop over the lanes of a pack is unrolled: GPUs have short packs, and a lane index at run time
/// would send the pack through memory. CPUs have long packs, where that costs little and the code compiles seconds
/// faster. This is not a tuning number: the number of lanes is, and it decides whether a pack is short.
inline constexpr unsigned unrolled_lanes = 8;

/// True if short packs of these elements are handled as 32-bit words of two elements. Compilers for GPUs cut a pack of
/// 16-bit elements into one register per element before its first use. They do so pack by pack, which delays the loads
/// of later packs. CPUs have instructions for 16-bit lanes.
template <typename T, unsigned Lanes>
inline constexpr bool is_handled_in_pairs = sizeof(T) == 2 && Lanes >= 4 && Lanes <= unrolled_lanes;

/// The last pack of an array: `count` elements, the other lanes zero.
template <unsigned Lanes, typename T>
inline pack<T, Lanes> load_tail(const T* array, std::uint32_t count) {
  pack<T, Lanes> tail = 0;
  if constexpr (Lanes <= unrolled_lanes) {
#pragma unroll
    for (std::uint32_t i = 0; i < Lanes; ++i)
      if (i < count) tail[i] = array[i];
  } else {
#pragma nounroll
    for (std::uint32_t i = 0; i < count; ++i) tail[i] = array[i];
  }
  return tail;
}

/// Stores the first `count` lanes.
template <unsigned Lanes, typename T>
inline void store_tail(T* array, std::uint32_t count, pack<T, Lanes> value) {
  if constexpr (Lanes <= unrolled_lanes) {
#pragma unroll
    for (std::uint32_t i = 0; i < Lanes; ++i)
      if (i < count) array[i] = value[i];
  } else {
#pragma nounroll
    for (std::uint32_t i = 0; i < count; ++i) array[i] = value[i];
  }
}

/// One in each lane where `mask`, the result of comparing two packs, holds. (True is all ones, that is -1.)
template <typename Count, typename Mask>
inline Count ones(Mask mask) {
  return __builtin_bit_cast(Count, -mask);
}

/// The first lane of the lower half, the first of the upper one, the second of the lower one, and so on.
template <typename Pack, std::size_t... Lane>
inline Pack interleave_halves(Pack x, std::index_sequence<Lane...>) {
  return __builtin_shufflevector(x, x, (Lane / 2 + Lane % 2 * (sizeof...(Lane) / 2))...);
}

/// Sum over the lanes: the upper half is added to the lower one until there are two. The order is part of the result.
template <typename Sum, unsigned Lanes, typename T>
inline Sum sum_lanes(pack<T, Lanes> lanes) {
  const auto wide = __builtin_convertvector(lanes, pack<Sum, Lanes>);
  if constexpr (Lanes == 2) {
    return wide[0] + wide[1];
  } else {
    return sum_lanes<Sum, Lanes / 2, Sum>(wide.lo + wide.hi);
  }
}

}  // namespace syclamp::kernels
