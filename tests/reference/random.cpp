// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/random.hpp"

namespace reference {
namespace {

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

word_pair philox(word_pair counter, std::uint32_t key) {
  for (int round = 0; round < 10; ++round, key += 0x9E3779B9u) {
    const std::uint64_t product = std::uint64_t{0xD256D193} * counter.first;
    counter = {high(product) ^ key ^ counter.second, low(product)};
  }
  return counter;
}

word_pair random_words(std::uint64_t seed, std::uint64_t step, std::uint32_t tensor, std::uint64_t element) {
  const word_pair a = philox({low(step), high(step)}, low(seed));
  const word_pair b = philox({tensor, high(seed) ^ a.second}, a.first);
  return philox({low(element), high(element) ^ b.second}, b.first);
}

std::uint32_t random_word(std::uint64_t seed, std::uint64_t step, std::uint32_t tensor, std::uint64_t element) {
  return random_words(seed, step, tensor, element).first;
}

}  // namespace reference
