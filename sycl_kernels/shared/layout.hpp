// SPDX-License-Identifier: Apache-2.0
// Records in memory that host and device share.
// Host code includes it, so it includes nothing but the standard library and records of the public headers.
#pragma once

#include <cstdint>

#include <syclamp/clip_result.hpp>
#include <syclamp/element_type.hpp>
#include <syclamp/exponent_histogram.hpp>
#include <syclamp/inspection.hpp>
#include <syclamp/matrix/activation.hpp>

#include "sycl_kernels/shared/tuning.hpp"

namespace syclamp::kernels {

using matrix::activation;  // of the optional module; its kernels are part of the core

/// Partial results are per chunk of this many elements on every device: the shape of a sum must not depend on how many
/// compute units there are. Small enough that a chunk that turns out bad is still in cache when it is read again.
inline constexpr std::uint32_t chunk_elements = 65536;

/// Most elements of a list, so that chunks can be counted in 32 bits: 64-bit divisions are slow on GPUs.
inline constexpr std::uint64_t max_elements = std::uint64_t{chunk_elements} << 31;  // less than half of what fits

constexpr std::uint32_t chunks_of(std::uint64_t elements) {
  return static_cast<std::uint32_t>((elements + chunk_elements - 1) / chunk_elements);
}

/// Whether a list such as `gradient_types` has this type.
template <const auto& Types>
constexpr bool is_among(element_type type) {
  bool found = false;
  for (const element_type known : Types) found = found || type == known;
  return found;
}

// The table of a tensor list. All tensors lie one after the other in one space of elements, each beginning at a
// multiple of `tensor_alignment`, and the chunks cut that space: work is divided by elements, however many tensors
// there are, and a piece of a tensor begins where a pack begins. A tensor costs 20 bytes: its address, its start and
// its kind.

inline constexpr std::uint32_t tensor_alignment = 64;

/// Type, padding, group of a tensor, and whether all ranks hold it alike, in one word. The size of a tensor is the
/// distance to the next start less the padding.
struct tensor_kind {
  static constexpr std::uint32_t max_groups = 1u << 21;

  static constexpr std::uint32_t encode(element_type type, std::uint32_t padding, std::uint32_t group,
                                        bool is_replicated = false) {
    return static_cast<std::uint32_t>(type) | padding << 4 | (is_replicated ? 1u << 10 : 0u) | group << 11;
  }
  static constexpr element_type type(std::uint32_t kind) { return static_cast<element_type>(kind & 15u); }
  static constexpr std::uint32_t padding(std::uint32_t kind) { return kind >> 4 & 63u; }
  static constexpr bool is_replicated(std::uint32_t kind) { return (kind >> 10 & 1u) != 0; }
  static constexpr std::uint32_t group(std::uint32_t kind) { return kind >> 11; }
};

/// `chunk_statistics::first_nonfinite` when the chunk is finite.
inline constexpr std::uint32_t no_bad_element = ~std::uint32_t{0};

/// A number as the host passes it to a kernel: at an address in device memory, or by value if the address is null.
/// Kernels take the two as separate parameters. A negative value means that an optional number was not given.
struct scalar_argument {
  const float* address;
  float value;

  float get() const { return address != nullptr ? *address : value; }
  bool is_given() const { return address != nullptr || value >= 0.0f; }
};
inline constexpr float no_scalar = -1.0f;

/// Sums that FP32 cannot hold are kept in units of 2^200 or 2^-200: the exponent of a sum is -200, 0 or 200.
inline constexpr std::int32_t sum_unit = 200;

/// The inspection result of one chunk, or of the piece of a tensor in it.
struct chunk_statistics {
  std::uint64_t amax_bits;  ///< largest absolute value, as the bits of an FP64
  std::uint32_t elements;
  std::uint32_t inf_count;
  std::uint32_t nan_count;
  std::uint32_t zero_count;
  std::uint32_t subnormal_count;
  std::uint32_t first_nonfinite;  ///< index within the chunk
  float sum_of_squares;           ///< in units of 2^squares_exponent
  float abs_sum;                  ///< in units of 2^abs_sum_exponent; 0 without details per tensor
  std::int16_t squares_exponent;
  std::int16_t abs_sum_exponent;
  float largest_finite;  ///< largest absolute value that is neither Inf nor NaN; set when the chunk is complete
};
static_assert(sizeof(chunk_statistics) == 48);
static_assert(sizeof(inspection) == 96, "no padding: results are compared bit for bit");

/// The factor of `convert_list`.
enum class factor_kind : std::uint32_t {
  one,       ///< 1
  multiply,  ///< a number in device memory
  divide,    ///< its reciprocal
};

/// Whether there is one factor for all elements, per group or per tensor.
enum class factor_per : std::uint32_t { list, group, tensor };

/// Added to a norm before it divides, as PyTorch's clip_grad_norm_ does.
inline constexpr float clip_epsilon = 1e-6f;

/// Inputs of the arithmetic self-test. They come from memory so that no compiler can compute the answers.
struct arithmetic_inputs {
  std::uint32_t quiet_nan;
  std::uint16_t half_subnormals[4];  ///< 2^-24, 3·2^-24, the largest subnormal, the smallest normal
  float tie_to_even_low, tie_to_even_high, below_overflow, overflow;
  float large, small;    ///< (large + small) - large is 0 as written, `small` when reassociated
  float factor, addend;  ///< factor² + addend: 0 when rounded twice, 2^-24 when fused
  float dividend, divisor, radicand;
  float subnormal_float;
};

/// Raw results of the self-test. The host checks them.
struct arithmetic_answers {
  float widened_subnormals[4];
  std::uint16_t narrowed_subnormals[4];
  std::uint16_t rounded_low, rounded_high, largest, overflowed;
  float reassociated, contracted, fused, quotient, root, subnormal_doubled;
  std::uint32_t nan_differs_from_itself;
};

}  // namespace syclamp::kernels
