// SPDX-License-Identifier: Apache-2.0
// Where a pack lies in its tensor, and the walk over all packs of a list: what element-wise kernels have in common.
//
// An element-wise kernel loads packs as FP32 from any type, computes, and stores them as any type.
#pragma once

#include <type_traits>

#include "format.hpp"
#include "pack.hpp"
#include "segment.hpp"
#include "work_group.hpp"

namespace syclamp::kernels {

/// `Lanes` elements of a tensor, of which the first is number `first`.
template <unsigned Lanes, bool Aligned>
struct whole_pack {
  std::uint64_t first;

  template <typename T>
  pack<T, Lanes> read(const T* array) const {
    return load_pack<Lanes, Aligned>(array + first, 0);
  }
  template <typename T>
  void write(T* array, pack<T, Lanes> value) const {
    store_pack<Lanes, Aligned>(array + first, 0, value);
  }
};

/// The last elements of a piece, fewer than a pack has lanes.
template <unsigned Lanes>
struct part_of_pack {
  std::uint64_t first;
  std::uint32_t count;

  template <typename T>
  pack<T, Lanes> read(const T* array) const {
    return load_tail<Lanes>(array + first, count);
  }
  template <typename T>
  void write(T* array, pack<T, Lanes> value) const {
    store_tail<Lanes>(array + first, count, value);
  }
};

/// A tensor of a type that is known when the kernel is compiled.
template <typename Format>
struct typed_stream {
  static constexpr bool is_float32 = std::is_same_v<Format, format<element_type::float32>>;
  std::uint64_t address;

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] pack<float, Lanes> load(const Place& place) const {
    return Format::template widen<Lanes>(place.read(reinterpret_cast<const typename Format::bits*>(address)));
  }

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void store(const Place& place, pack<float, Lanes> x) const {
    if constexpr (requires { Format::template narrow<Lanes>(x); })  // FP64 is never written
      place.write(reinterpret_cast<typename Format::bits*>(address), Format::template narrow<Lanes>(x));
  }
};

/// A tensor of any type, which is asked for at each pack.
struct stream {
  std::uint64_t address;
  element_type type;

  bool exists() const { return address != 0; }
  bool is_aligned(unsigned lanes) const { return address % (lanes * size_of(type)) == 0; }

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] pack<float, Lanes> load(const Place& place) const {
    pack<float, Lanes> x;
    with_format(type, [&](auto format) __attribute__((always_inline)) {
      x = typed_stream<decltype(format)>{address}.template load<Lanes>(place);
    });
    return x;
  }

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void store(const Place& place, pack<float, Lanes> x) const {
    with_format(type, [&](auto format) __attribute__((always_inline)) {
      typed_stream<decltype(format)>{address}.template store<Lanes>(place, x);
    });
  }
};

/// Calls `action(in, out)` with typed streams for the pairs of types that training is made of, and with streams of any
/// type for the others: code for every pair would take many seconds to compile.
template <typename Action>
[[gnu::always_inline]] inline void with_streams(const stream& in, const stream& out, Action action) {
  using half = format<element_type::float16>;
  using brain = format<element_type::bfloat16>;
  using single = format<element_type::float32>;
  const auto is = [&](element_type a, element_type b) { return in.type == a && out.type == b; };
  const auto typed = [&]<typename In, typename Out>(In, Out) __attribute__((always_inline)) {
    action(typed_stream<In>{in.address}, typed_stream<Out>{out.address});
  };
  if (is(element_type::float16, element_type::float32)) {
    typed(half{}, single{});
  } else if (is(element_type::bfloat16, element_type::float32)) {
    typed(brain{}, single{});
  } else if (is(element_type::float32, element_type::float32)) {
    typed(single{}, single{});
  } else if (is(element_type::float32, element_type::float16)) {
    typed(single{}, half{});
  } else if (is(element_type::float32, element_type::bfloat16)) {
    typed(single{}, brain{});
  } else if (is(element_type::float16, element_type::float16)) {
    typed(half{}, half{});
  } else if (is(element_type::bfloat16, element_type::bfloat16)) {
    typed(brain{}, brain{});
  } else {
    action(in, out);
  }
}

/// Calls `action(place)` for each pack of a piece that this work-item takes.
template <unsigned Lanes, unsigned GroupSize, typename Action>
[[gnu::always_inline]] inline void for_each_pack(const work_item& item, const segment& piece, bool aligned,
                                                 Action action) {
  const std::uint64_t begin = piece.first_element();
  const std::uint32_t packs = piece.count() / Lanes, rest = piece.count() % Lanes;
  const std::uint32_t first = first_pack<GroupSize, Lanes>(item, piece);
  // Unaligned accesses cost a CPU nothing; a GPU goes lane by lane then.
  if (GroupSize > 1 && aligned) {
    for (std::uint32_t i = first; i < packs; i += GroupSize)
      action(whole_pack<Lanes, true>{begin + std::uint64_t{i} * Lanes});
  } else {
    for (std::uint32_t i = first; i < packs; i += GroupSize)
      action(whole_pack<Lanes, false>{begin + std::uint64_t{i} * Lanes});
  }
  if (rest != 0 && first == packs % GroupSize) action(part_of_pack<Lanes>{begin + std::uint64_t{packs} * Lanes, rest});
}

}  // namespace syclamp::kernels
