// SPDX-License-Identifier: Apache-2.0
/// \file
/// How large gradients are, by powers of two.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// How many elements have which exponent, as FP32 numbers.
///
/// Zeros are in none of the bins. The last bin holds what is not finite in FP32, the first one what is subnormal there.
struct exponent_histogram {
  static constexpr std::uint32_t size = 256;
  static constexpr int bias = 127;

  std::uint64_t counts[size];

  /// How many elements are at least 2^exponent and less than 2^(exponent + 1) in absolute value.
  /// \param exponent  from -126 to 127
  constexpr std::uint64_t count(int exponent) const { return counts[exponent + bias]; }
};

}  // namespace SYCLAMP_NAMESPACE
