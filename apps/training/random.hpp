// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same on every machine, because no distribution of the standard library is used.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace syclamp::training {

/// A sequence of its own for each pair of numbers.
class random_numbers {
 public:
  random_numbers(std::uint64_t seed, std::uint64_t stream) : generator_(mixed(seed + 1) ^ mixed(~stream)) {}

  /// From 0 to 1, without the 1.
  double uniform() { return static_cast<double>(generator_() >> 11) * 0x1p-53; }

  /// 0, 1, …, count - 1 in any order.
  std::vector<std::uint64_t> permutation(std::uint64_t count) {
    std::vector<std::uint64_t> order(count);
    std::iota(order.begin(), order.end(), std::uint64_t{0});
    for (std::uint64_t i = count; i > 1; --i) std::swap(order[i - 1], order[generator_() % i]);  // bias below 2^-40
    return order;
  }

 private:
  /// Neighbouring numbers become unlike ones (the finalizer of MurmurHash3).
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
    return x ^ (x >> 33);
  }

  std::mt19937_64 generator_;
};

}  // namespace syclamp::training
