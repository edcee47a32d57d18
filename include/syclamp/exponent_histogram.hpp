// SPDX-License-Identifier: Apache-2.0
/// \file
/// A histogram of magnitudes by powers of two.
/// This header is compiled by the host and by every device compiler: it includes nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/export.hpp>

namespace SYCLAMP_NAMESPACE {

/// The number of elements per binary exponent, as FP32 numbers.
///
/// Zeros are not counted. The first bin counts FP32 subnormals, the last bin values that are not finite in FP32.
struct exponent_histogram {
  static constexpr std::uint32_t size = 256;  ///< number of bins
  static constexpr int bias = 127;            ///< `counts[exponent + bias]` is the bin of an exponent

  std::uint64_t counts[size];  ///< the bins

  /// The number of elements with an absolute value in [2^exponent, 2^(exponent + 1)).
  /// \param exponent  from -126 to 127
  constexpr std::uint64_t count(int exponent) const { return counts[exponent + bias]; }
};

}  // namespace SYCLAMP_NAMESPACE
