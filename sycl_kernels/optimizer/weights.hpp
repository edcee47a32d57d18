// SPDX-License-Identifier: Apache-2.0
// Weights and moments as an optimizer's step loads and stores them: FP32 in registers, whatever lies in memory.
//
// Where the storage is known when the kernel is compiled, loops have no branches. `any_…` ask at each pack.
#pragma once

#include "sycl_kernels/base/global_memory.hpp"
#include "sycl_kernels/base/random.hpp"
#include "sycl_kernels/shared/optimizer_layout.hpp"
#include "sycl_kernels/walk/pack_walk.hpp"

namespace syclamp::kernels {

using half_format = format<element_type::float16>;
using bf16_format = format<element_type::bfloat16>;
using single_format = format<element_type::float32>;

/// The random bits of a pack, computed at each use: stored, they would take too many registers on a GPU. A word for the
/// copy of the weights; 16 bits, which is what BF16 drops, for each moment. (The third moment has bits that a copy in
/// 16 bits does not need.)
template <unsigned Lanes>
struct pack_noise {
  const random_stream& stream;
  std::uint64_t first;
  bool is_wanted;

  [[gnu::always_inline]] random_words<Lanes> of_model() const { return stream.pairs<Lanes>(first).first; }
  [[gnu::always_inline]] random_words<Lanes> of_state(unsigned index) const {
    const auto words = stream.pairs<Lanes>(first);
    return index == 0 ? words.second : index == 1 ? words.second >> 16 : words.first >> 16;
  }
};

/// Those of a tensor on one step.
struct tensor_noise {
  bool is_wanted;
  random_stream stream;

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] pack_noise<Lanes> at(const Place& place) const {
    return {stream, place.first, is_wanted};
  }
};

/// No random bits: everything is rounded to nearest.
struct no_noise {
  template <unsigned Lanes, typename Place>
  no_noise at(const Place&) const {
    return {};
  }
};

/// Stores a pack, rounded at random, by bits that `random()` returns, if that is wanted and there is something to
/// round.
template <unsigned Lanes, typename Format, typename Place, typename Random>
[[gnu::always_inline]] inline void store_rounded(const Place& place, std::uint64_t address, pack<float, Lanes> x,
                                                 bool is_random, Random random) {
  using words = random_words<Lanes>;
  if constexpr (requires { Format::shape; }) {
    words pattern;
    if (is_random) {
      pattern = round_to<Format>(__builtin_bit_cast(words, x), at_random<words>{random()});
    } else {
      pattern = __builtin_convertvector(Format::template narrow<Lanes>(x), words);
    }
    place.write(in_global_memory<typename Format::bits>(address),
                __builtin_convertvector(pattern, pack<typename Format::bits, Lanes>));
  } else {
    typed_stream<Format>{address}.template store<Lanes>(place, x);
  }
}

/// The types of copies: all but FP64.
template <typename Action>
[[gnu::always_inline]] inline void with_model_format(element_type type, Action action) {
  if (type != element_type::float64) with_format(type, action);
}

// Weights are loaded in two parts: `read` is all loads, `join` makes FP32 of them. Between the two, other loads can
// start.

// --- Weights ---------------------------------------------------------------------------------------------------------

/// FP32, without a copy.
struct master_weights {
  typed_stream<single_format> master;
  explicit master_weights(const parameter_slot& slot) : master{slot.weights} {}

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] pack<float, Lanes> read(const Place& place) const {
    return master.load<Lanes>(place);
  }
  template <unsigned Lanes>
  [[gnu::always_inline]] static pack<float, Lanes> join(pack<float, Lanes> w) {
    return w;
  }
  template <unsigned Lanes, typename Place, typename Noise>
  [[gnu::always_inline]] void store(const Place& place, pack<float, Lanes> w, const Noise&) const {
    master.store<Lanes>(place, w);
  }
};

/// FP32, with a copy.
template <typename Model>
struct copied_weights : master_weights {
  typed_stream<Model> model;
  explicit copied_weights(const parameter_slot& slot) : master_weights(slot), model{slot.model} {}

  template <unsigned Lanes, typename Place, typename Noise>
  [[gnu::always_inline]] void store(const Place& place, pack<float, Lanes> w, const Noise& noise) const {
    master_weights::store<Lanes>(place, w, noise);
    model.template store<Lanes>(place, w);
  }
};

/// BF16 and the lower half of the FP32, as `joined_halves` describes.
struct split_weights {
  std::uint64_t upper, lower;
  explicit split_weights(const parameter_slot& slot) : upper(slot.model), lower(slot.weights) {}

  template <unsigned Lanes>
  struct halves {
    pack<std::uint16_t, Lanes> upper, lower;
  };

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] halves<Lanes> read(const Place& place) const {
    return {place.read(in_global_memory<const std::uint16_t>(upper)),
            place.read(in_global_memory<const std::uint16_t>(lower))};
  }
  template <unsigned Lanes>
  [[gnu::always_inline]] static pack<float, Lanes> join(const halves<Lanes>& raw) {
    using words = pack<std::uint32_t, Lanes>;
    if constexpr (is_handled_in_pairs<std::uint16_t, Lanes>) {
      using pairs = pack<std::uint32_t, Lanes / 2>;
      const pairs high = __builtin_bit_cast(pairs, raw.upper), low = __builtin_bit_cast(pairs, raw.lower);
      words apart;  // the even lanes, then the odd ones
      apart.lo = joined_halves(high, low & 0xffffu);
      apart.hi = joined_halves(high >> 16, low >> 16);
      return __builtin_bit_cast(pack<float, Lanes>, interleave_halves(apart, std::make_index_sequence<Lanes>{}));
    } else {
      const words high = __builtin_convertvector(raw.upper, words), low = __builtin_convertvector(raw.lower, words);
      return __builtin_bit_cast(pack<float, Lanes>, joined_halves(high, low));
    }
  }
  template <unsigned Lanes, typename Place, typename Noise>
  [[gnu::always_inline]] void store(const Place& place, pack<float, Lanes> w, const Noise&) const {
    using half_words = pack<std::uint16_t, Lanes>;
    const auto raw = __builtin_bit_cast(pack<std::uint32_t, Lanes>, w);
    place.write(in_global_memory<std::uint16_t>(upper), __builtin_convertvector(upper_half(raw), half_words));
    place.write(in_global_memory<std::uint16_t>(lower), __builtin_convertvector(raw, half_words));
  }
};

/// Weights whose storage is known only at run time.
struct any_weights {
  const parameter_slot& slot;
  explicit any_weights(const parameter_slot& slot) : slot(slot) {}

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] pack<float, Lanes> read(const Place& place) const {
    pack<float, Lanes> w;
    if (slot.storage == weight_storage::split) {
      w = split_weights::join<Lanes>(split_weights(slot).read<Lanes>(place));
    } else {
      w = master_weights(slot).read<Lanes>(place);
    }
    return w;
  }
  template <unsigned Lanes>
  [[gnu::always_inline]] static pack<float, Lanes> join(pack<float, Lanes> w) {
    return w;
  }

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void store(const Place& place, pack<float, Lanes> w, const pack_noise<Lanes>& noise) const {
    if (slot.storage == weight_storage::split) {
      split_weights(slot).store<Lanes>(place, w, noise);
    } else {
      master_weights(slot).store<Lanes>(place, w, noise);
      if (slot.model != 0)
        with_model_format(slot.model_type, [&](auto format) __attribute__((always_inline)) {
          store_rounded<Lanes, decltype(format)>(place, slot.model, w, noise.is_wanted,
                                                 [&]() __attribute__((always_inline)) { return noise.of_model(); });
        });
    }
  }
};

// --- Moments ---------------------------------------------------------------------------------------------------------

/// `Count` arrays of FP32.
template <unsigned Count>
struct float32_states {
  std::uint64_t addresses[Count + 1];  // C++ has no arrays of length 0

  explicit float32_states(const parameter_slot& slot) {
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) addresses[i] = slot.states[i];
  }

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void load(const Place& place, pack<float, Lanes>* state) const {
#pragma unroll
    for (unsigned i = 0; i < Count; ++i)
      state[i] = typed_stream<single_format>{addresses[i]}.template load<Lanes>(place);
  }
  template <unsigned Lanes, typename Place, typename Noise>
  [[gnu::always_inline]] void store(const Place& place, const pack<float, Lanes>* state, const Noise&) const {
#pragma unroll
    for (unsigned i = 0; i < Count; ++i)
      typed_stream<single_format>{addresses[i]}.template store<Lanes>(place, state[i]);
  }
};

/// `Count` arrays of FP32, or of BF16.
template <unsigned Count>
struct any_states {
  const parameter_slot& slot;

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void load(const Place& place, pack<float, Lanes>* state) const {
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) {
      if (slot.state_type == element_type::bfloat16) {
        state[i] = typed_stream<bf16_format>{slot.states[i]}.template load<Lanes>(place);
      } else {
        state[i] = typed_stream<single_format>{slot.states[i]}.template load<Lanes>(place);
      }
    }
  }
  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] void store(const Place& place, const pack<float, Lanes>* state,
                                    const pack_noise<Lanes>& noise) const {
#pragma unroll
    for (unsigned i = 0; i < Count; ++i) {
      if (slot.state_type == element_type::bfloat16) {
        store_rounded<Lanes, bf16_format>(place, slot.states[i], state[i], noise.is_wanted,
                                          [&]() __attribute__((always_inline)) { return noise.of_state(i); });
      } else {
        typed_stream<single_format>{slot.states[i]}.template store<Lanes>(place, state[i]);
      }
    }
  }
};

// --- Choice of the storage types
// ---------------------------------------------------------------------------------------------------

/// Gradients of any of `gradient_types`. Those of another type are zeros: no memory is read, and no piece of them gets
/// this far (apply.hpp).
struct any_gradient {
  std::uint64_t address;
  element_type type;

  template <unsigned Lanes, typename Place>
  [[gnu::always_inline]] pack<float, Lanes> read(const Place& place) const {
    pack<float, Lanes> g = 0;
    with_format_among<gradient_types>(type, [&](auto format) __attribute__((always_inline)) {
      g = typed_stream<decltype(format)>{address}.template load<Lanes>(place);
    });
    return g;
  }
  template <unsigned Lanes>
  [[gnu::always_inline]] static pack<float, Lanes> widen(pack<float, Lanes> g) {
    return g;
  }
};

/// Calls `action(gradient, weights, states, noise)` with types that are known for the ways in which training is done;
/// false if this is none of them. Code for all ways would take many seconds to compile.
template <unsigned States, typename Action>
[[gnu::always_inline]] inline bool with_known_storage(const any_gradient& in, const parameter_slot& slot,
                                                      Action action) {
  const auto is = [&](element_type type, weight_storage storage) { return in.type == type && slot.storage == storage; };
  const auto typed = [&]<typename Gradient, typename Weights>(Gradient,
                                                              Weights weights) __attribute__((always_inline)) {
    action(typed_stream<Gradient>{in.address}, weights, float32_states<States>(slot), no_noise{});
  };
  bool is_known = true;
  if (is(element_type::float16, weight_storage::master_and_fp16)) {
    typed(half_format{}, copied_weights<half_format>(slot));
  } else if (is(element_type::bfloat16, weight_storage::master_and_bf16)) {
    typed(bf16_format{}, copied_weights<bf16_format>(slot));
  } else if (is(element_type::float32, weight_storage::master)) {
    typed(single_format{}, master_weights(slot));
  } else if (is(element_type::bfloat16, weight_storage::split) && slot.state_type == element_type::float32) {
    typed(bf16_format{}, split_weights(slot));
  } else {
    is_known = false;
  }
  return is_known;
}

}  // namespace syclamp::kernels
