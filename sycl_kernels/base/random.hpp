// SPDX-License-Identifier: Apache-2.0
// Random bits that are a function of where they are used: Philox 2x32 with ten rounds (Salmon et al., 2011), a counter
// in, 64 random bits out. No state, so a result repeats whatever the order of execution.
#pragma once

#include <cstdint>

#include "sycl_kernels/base/pack.hpp"

namespace syclamp::kernels {

template <typename Words>
struct random_pair {
  Words first, second;
};

template <unsigned Lanes>
using random_words = pack<std::uint32_t, Lanes>;

/// The upper and the lower halves of the products of words with a constant.
template <unsigned Lanes>
inline random_pair<random_words<Lanes>> multiply_wide(random_words<Lanes> x, std::uint32_t bits) {
  if constexpr (Lanes < 8) {  // on a GPU each lane is a register
    using wide = pack<std::uint64_t, Lanes>;
    const wide product = __builtin_convertvector(x, wide) * std::uint64_t{bits};
    return {__builtin_convertvector(product >> 32, random_words<Lanes>),
            __builtin_convertvector(product, random_words<Lanes>)};
  } else {  // a CPU multiplies every other word, and needs no words moved between lanes if the rest is done in place
    using wide = pack<std::uint64_t, Lanes / 2>;
    constexpr std::uint64_t lower = 0xffffffffu;
    const wide both = __builtin_bit_cast(wide, x);
    const wide even = (both & lower) * std::uint64_t{bits}, odd = (both >> 32) * std::uint64_t{bits};
    return {__builtin_bit_cast(random_words<Lanes>, (even >> 32) | (odd & ~lower)), x * bits};
  }
}

/// Ten rounds on `Lanes` counters at once.
template <unsigned Lanes>
inline random_pair<random_words<Lanes>> philox(random_words<Lanes> low, random_words<Lanes> high, std::uint32_t key) {
#pragma nounroll  // to save compile time
  for (int round = 0; round < 10; ++round) {
    const auto product = multiply_wide<Lanes>(low, 0xD256D193u);
    low = product.first ^ key ^ high;
    high = product.second;
    key += 0x9E3779B9u;
  }
  return {low, high};
}

/// The random bits of one tensor in one step: one word for each element.
class random_stream {
 public:
  random_stream(std::uint64_t seed, std::uint64_t step, std::uint32_t tensor) {
    const auto a = pair(static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32),
                        static_cast<std::uint32_t>(seed));
    const auto b = pair(tensor, static_cast<std::uint32_t>(seed >> 32) ^ a.second, a.first);
    key_ = b.first;
    whitening_ = b.second;
  }

  /// The words of the elements from number `first` on.
  template <unsigned Lanes>
  [[gnu::always_inline]] random_words<Lanes> words(std::uint64_t first) const {
    return pairs<Lanes>(first).first;
  }

  /// The same with more than one word per element.
  template <unsigned Lanes>
  [[gnu::always_inline]] random_pair<random_words<Lanes>> pairs(std::uint64_t first) const {
    random_words<Lanes> low = static_cast<std::uint32_t>(first);
#pragma unroll
    for (unsigned i = 0; i < Lanes; ++i) low[i] += i;  // `first` is a multiple of the lanes: no carry
    const random_words<Lanes> high = static_cast<std::uint32_t>(first >> 32) ^ whitening_;
    return philox<Lanes>(low, high, key_);
  }

 private:
  static random_pair<std::uint32_t> pair(std::uint32_t low, std::uint32_t high, std::uint32_t key) {
    const auto both = philox<2>(random_words<2>(low), random_words<2>(high), key);  // no vectors of one
    return {both.first[0], both.second[0]};
  }

  std::uint32_t key_, whitening_;
};

}  // namespace syclamp::kernels
