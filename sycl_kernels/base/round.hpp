// SPDX-License-Identifier: Apache-2.0
// Rounding from FP32 to a smaller binary format, in integer arithmetic: the same for every format, on every device, to
// nearest or at random.
#pragma once

#include <cstdint>

#include "sycl_kernels/base/pack.hpp"

namespace syclamp::kernels {

/// How many bits the exponent and the fraction of a format have.
struct fields {
  unsigned exponent, fraction;
  constexpr unsigned bias() const { return (1u << (exponent - 1)) - 1; }
};

inline constexpr fields binary64{11, 52}, binary32{8, 23}, binary16{5, 10}, bf16{8, 7}, e4m3{4, 3}, e5m2{5, 2};

/// To nearest, ties to even.
struct to_nearest {
  /// What is added to a significand of which the last `dropped` bits are cut off afterwards.
  template <typename Words>
  Words operator()(Words significand, Words dropped) const {
    const Words unit = 1;
    return (unit << (dropped - unit)) - unit + (significand >> dropped & unit);
  }
};

/// Upwards with the probability of the part that is cut off: the expectation of the result is the number itself.
template <typename Words>
struct at_random {
  Words bits;  ///< uniformly distributed

  Words operator()(Words, Words dropped) const {
    const Words unit = 1;
    return bits & ((unit << dropped) - unit);
  }
};

/// The pattern of a number without its sign in the format `To`, from its pattern as an FP32. What is too large, and Inf
/// and NaN, become a pattern above that of the largest number.
template <fields To, typename Words, typename Addend>
inline Words rounded(Words magnitude, Addend addend) {
  // The exponent, as FP32 writes it, of the smallest normal number of `To`.
  constexpr unsigned lowest = 1 + binary32.bias() - To.bias();
  const Words unit = 1, field = magnitude >> 23, exponent = __builtin_elementwise_max(field, unit);
  Words significand = (magnitude & 0x7fffffu) | (field == 0 ? Words(0) : Words(0x800000u));
  // Below `lowest` numbers have the spacing of the smallest normal one, so more bits are cut off: at most so many that
  // the sum still fits into a word. Saturating subtractions of packs are avoided (see pack.hpp).
  const Words wanted = (binary32.fraction - To.fraction + lowest) - __builtin_elementwise_min(exponent, Words(lowest));
  const Words dropped = __builtin_elementwise_min(wanted, Words(31));
  significand >>= __builtin_elementwise_min(wanted - dropped, Words(31));
  const Words steps = (significand + addend(significand, dropped)) >> dropped;
  // In steps of that spacing the pattern counts on: a carry out of the fraction is a step of the exponent.
  return steps + ((__builtin_elementwise_max(exponent, Words(lowest)) << To.fraction) - (lowest << To.fraction));
}

}  // namespace syclamp::kernels
