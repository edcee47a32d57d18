// SPDX-License-Identifier: Apache-2.0
// Philox 2x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; 2011), one number at a time.
#pragma once

#include <cstdint>
#include <utility>

namespace reference {

using word_pair = std::pair<std::uint32_t, std::uint32_t>;

word_pair philox(word_pair counter, std::uint32_t key);

/// The random word of an element, as syclamp/cast.hpp promises: a function of these four numbers.
std::uint32_t random_word(std::uint64_t seed, std::uint64_t step, std::uint32_t tensor, std::uint64_t element);

/// The same with a second random word.
word_pair random_words(std::uint64_t seed, std::uint64_t step, std::uint32_t tensor, std::uint64_t element);

}  // namespace reference
