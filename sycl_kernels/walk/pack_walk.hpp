// SPDX-License-Identifier: Apache-2.0
// Where a pack lies in its tensor, and the walk over all packs of a list: the common part of element-wise kernels.
//
// An element-wise kernel loads packs as FP32 from any type, computes, and stores them as any type.
#pragma once

#include <type_traits>

#include "sycl_kernels/base/format.hpp"
#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/base/pack.hpp"
#include "sycl_kernels/base/work_group.hpp"
#include "sycl_kernels/walk/segment.hpp"

namespace syclamp::kernels {

/// `Lanes` elements of a tensor, of which the first is number `first`.
template <unsigned Lanes, bool Aligned>
struct whole_pack {
  static constexpr unsigned lanes = Lanes;
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

/// The same in arrays that are aligned to packs and of which addresses are kept from pack to pack; `begin` is the first
/// pack that this work-item takes of a piece.
template <unsigned Lanes>
struct streamed_pack {
  static constexpr unsigned lanes = Lanes;
  std::uint64_t begin, first;

  template <typename T>
  pack<T, Lanes> read(const T* array) const {
    return *at<const pack<T, Lanes>>(array);
  }
  template <typename T>
  void write(T* array, pack<T, Lanes> value) const {
    *at<pack<T, Lanes>>(array) = value;
  }

 private:
  /// The mask changes no bit. It keeps compilers from taking the sum apart, which they do to share a part of it among
  /// arrays: each array then has two addresses in registers of a GPU, one of them from its load to its store.
  template <typename Pack, typename T>
  [[gnu::always_inline]] Pack* at(T* array) const {
    const std::uint64_t start = reinterpret_cast<std::uint64_t>(array + begin) & ~std::uint64_t{sizeof(Pack) - 1};
    return in_global_memory<Pack>(start + (first - begin) * sizeof(T));
  }
};

/// The last elements of a piece, fewer than a pack has lanes.
template <unsigned Lanes>
struct part_of_pack {
  static constexpr unsigned lanes = Lanes;
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

/// One element. It travels as a pack of two, because OpenCL has no vectors of one; nothing reads the other lane, so
/// compilers remove the work on it. (It is the same number: of `{x, 0}` compilers make a constant whose first lane is
/// undefined, and AdaptiveCpp's CPU targets crash on one of integers in a kernel with barriers.)
struct single_element {
  static constexpr unsigned lanes = 2;
  std::uint64_t first;

  template <typename T>
  pack<T, 2> read(const T* array) const {
    return array[first];
  }
  template <typename T>
  void write(T* array, pack<T, 2> value) const {
    array[first] = value[0];
  }
};

/// A tensor of a type that is known when the kernel is compiled.
template <typename Format>
struct typed_stream {
  static constexpr bool is_float32 = std::is_same_v<Format, format<element_type::float32>>;
  static constexpr unsigned bytes = sizeof(typename Format::bits);  ///< of an element
  std::uint64_t address;

  /// Loads a pack as it lies in memory: until it is widened, 16 bits take half the registers.
  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] pack<typename Format::bits, Lanes> read(const Place& place) const {
    return place.read(in_global_memory<const typename Format::bits>(address));
  }
  template <unsigned Lanes>
  [[gnu::always_inline]] static pack<float, Lanes> widen(pack<typename Format::bits, Lanes> raw) {
    return Format::template widen<Lanes>(raw);
  }

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] pack<float, Lanes> load(const Place& place) const {
    return widen<Lanes>(read<Lanes>(place));
  }

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void store(const Place& place, pack<float, Lanes> x) const {
    if constexpr (requires { Format::template narrow<Lanes>(x); })  // FP64 is never written
      place.write(in_global_memory<typename Format::bits>(address), Format::template narrow<Lanes>(x));
  }
};

/// A tensor of any type. The type is tested at each pack.
struct stream {
  std::uint64_t address;
  element_type type;

  bool exists() const { return address != 0; }
  bool is_aligned(unsigned lanes) const { return address % (lanes * bytes_per_element(type)) == 0; }

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
  using bf16 = format<element_type::bfloat16>;
  using single = format<element_type::float32>;
  const auto is = [&](element_type a, element_type b) { return in.type == a && out.type == b; };
  const auto typed = [&]<typename In, typename Out>(In, Out) __attribute__((always_inline)) {
    action(typed_stream<In>{in.address}, typed_stream<Out>{out.address});
  };
  if (is(element_type::float16, element_type::float32)) {
    typed(half{}, single{});
  } else if (is(element_type::bfloat16, element_type::float32)) {
    typed(bf16{}, single{});
  } else if (is(element_type::float32, element_type::float32)) {
    typed(single{}, single{});
  } else if (is(element_type::float32, element_type::float16)) {
    typed(single{}, half{});
  } else if (is(element_type::float32, element_type::bfloat16)) {
    typed(single{}, bf16{});
  } else if (is(element_type::float16, element_type::float16)) {
    typed(half{}, half{});
  } else if (is(element_type::bfloat16, element_type::bfloat16)) {
    typed(bf16{}, bf16{});
  } else {
    action(in, out);
  }
}

/// Packs `begin`, `begin` + `Distance`, … before `end`, `InFlight` at a time as long as all work-items have as many,
/// then one at a time: `load(place)` for each of them, then `use(place_of, loaded)` with an array of all that was
/// loaded. So a GPU has that many loads under way before it waits for the first. `place_of(i)` is where pack i lies; in
/// `use`, pack i of the array. `begin` - `first` must be the same for all work-items, and `first` less than `Distance`.
template <unsigned InFlight, unsigned Distance, typename PlaceOf, typename Load, typename Use>
[[gnu::always_inline]] inline void for_packs(std::uint32_t first, std::uint32_t begin, std::uint32_t end,
                                             PlaceOf place_of, Load load, Use use) {
  using loaded_pack = decltype(load(place_of(begin)));
  std::uint32_t i = begin;
  if constexpr (InFlight > 1) {
    std::uint32_t round = begin - first;
#pragma nounroll
    for (; round + InFlight * Distance <= end; round += InFlight * Distance) {
      const auto place_in_round = [&](unsigned pack) __attribute__((always_inline)) {
        return place_of(first + round + pack * Distance);
      };
      loaded_pack loaded[InFlight];
#pragma unroll
      for (unsigned pack = 0; pack < InFlight; ++pack) loaded[pack] = load(place_in_round(pack));
      use(place_in_round, loaded);
    }
    i = first + round;
  }
#pragma nounroll
  for (; i < end; i += Distance) {
    loaded_pack loaded[1] = {load(place_of(i))};
    use([&](unsigned) __attribute__((always_inline)) { return place_of(i); }, loaded);
  }
}

/// For `for_packs`: `use(place, loaded)` for one pack after the other.
template <typename Use>
struct one_by_one {
  Use use;

  template <typename PlaceOf, typename Loaded, unsigned Count>
  [[gnu::always_inline]] void operator()(PlaceOf place_of, Loaded (&loaded)[Count]) const {
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) use(place_of(i), loaded[i]);
  }
};
template <typename Use>
one_by_one(Use) -> one_by_one<Use>;

/// Calls `use(place, load(place))` for each pack of a piece that this work-item takes; with `InFlight` packs loaded
/// before the first is used where whole packs are aligned.
template <unsigned Lanes, unsigned GroupSize, unsigned InFlight, typename Load, typename Use>
[[gnu::always_inline]] inline void for_each_loaded_pack(const work_item& item, const segment& piece, bool aligned,
                                                        Load load, Use use) {
  const std::uint64_t begin = piece.first_element();
  const std::uint32_t packs = piece.count() / Lanes, rest = piece.count() % Lanes;
  const std::uint32_t first = first_pack<GroupSize, Lanes>(item, piece);
  // Unaligned accesses cost a CPU nothing; a GPU goes lane by lane then.
  if (GroupSize > 1 && aligned) {
    for_packs<InFlight, GroupSize>(
        first, first, packs,
        [&](std::uint32_t i)
            __attribute__((always_inline)) { return whole_pack<Lanes, true>{begin + std::uint64_t{i} * Lanes}; },
        load, one_by_one{use});
  } else {
    for (std::uint32_t i = first; i < packs; i += GroupSize) {
      const whole_pack<Lanes, false> place{begin + std::uint64_t{i} * Lanes};
      use(place, load(place));
    }
  }
  if (rest != 0 && first == packs % GroupSize) {
    const part_of_pack<Lanes> place{begin + std::uint64_t{packs} * Lanes, rest};
    use(place, load(place));
  }
}

/// Nothing to load in advance.
struct nothing_loaded {};

/// Calls `action(place)` for each pack of a piece that this work-item takes.
template <unsigned Lanes, unsigned GroupSize, typename Action>
[[gnu::always_inline]] inline void for_each_pack(const work_item& item, const segment& piece, bool aligned,
                                                 Action action) {
  for_each_loaded_pack<Lanes, GroupSize, 1>(
      item, piece, aligned, [](auto) __attribute__((always_inline)) { return nothing_loaded{}; },
      [&](auto place, nothing_loaded) __attribute__((always_inline)) { action(place); });
}

// The same in parts, for kernels with so many arrays that a GPU's registers would not do for all of it at once. (Loops
// are not unrolled: a pack is as much as there is room for.)

/// The whole packs of a piece, aligned, of arrays that are the same for all of them: `use(place, load(place))`, with
/// `InFlight` packs loaded before the first is used.
template <unsigned Lanes, unsigned GroupSize, unsigned InFlight, typename Load, typename Use>
[[gnu::always_inline]] inline void for_each_streamed_pack(const work_item& item, const segment& piece, Load load,
                                                          Use use) {
  const std::uint32_t packs = piece.count() / Lanes, mine = first_pack<GroupSize, Lanes>(item, piece);
  const std::uint64_t begin = piece.first_element() + mine * Lanes;
  for_packs<InFlight, GroupSize>(
      mine, mine, packs,
      [&](std::uint32_t i) __attribute__((always_inline)) {
        return streamed_pack<Lanes>{begin, begin + std::uint64_t{i - mine} * Lanes};
      },
      load, one_by_one{use});
}

/// The same in halves, of any arrays.
template <unsigned Lanes, unsigned GroupSize, typename Action>
[[gnu::always_inline]] inline void for_each_half_pack(const work_item& item, const segment& piece, Action action) {
  constexpr unsigned half = Lanes / 2;
  const std::uint32_t halves = piece.count() / Lanes * 2;
  const std::uint64_t begin = piece.first_element();
#pragma nounroll
  for (std::uint32_t i = first_pack<GroupSize, half>(item, piece); i < halves; i += GroupSize)
    action(whole_pack<half, true>{begin + std::uint64_t{i} * half});
}

/// The elements that remain after whole packs, or all elements if the piece is not aligned: one by one, with
/// neighbouring work-items on neighbouring elements.
template <unsigned Lanes, unsigned GroupSize, typename Action>
[[gnu::always_inline]] inline void for_each_other_element(const work_item& item, const segment& piece, bool aligned,
                                                          Action action) {
  const std::uint64_t begin = piece.first_element();
#pragma nounroll
  for (std::uint32_t i = (aligned ? piece.count() / Lanes * Lanes : 0) + item.id; i < piece.count(); i += GroupSize)
    action(single_element{begin + i});
}

/// The same, but each work-item takes its packs, lane after lane: `action(place, lane)`, and `end()` after each pack.
template <unsigned Lanes, unsigned GroupSize, typename Action, typename End>
[[gnu::always_inline]] inline void for_each_other_lane(const work_item& item, const segment& piece, bool aligned,
                                                       Action action, End end) {
  const std::uint64_t begin = piece.first_element();
  const std::uint32_t whole = piece.count() / Lanes, packs = (piece.count() + Lanes - 1) / Lanes;
  const std::uint32_t mine = first_pack<GroupSize, Lanes>(item, piece);
#pragma nounroll
  for (std::uint32_t i = !aligned ? mine : whole % GroupSize == mine ? whole : packs; i < packs; i += GroupSize) {
#pragma nounroll
    for (std::uint32_t lane = 0; lane < Lanes && i * Lanes + lane < piece.count(); ++lane)
      action(single_element{begin + i * Lanes + lane}, lane);
    end();
  }
}

}  // namespace syclamp::kernels
