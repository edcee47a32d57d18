// SPDX-License-Identifier: Apache-2.0
// Records in memory for the kernels of optimizers.
// Host code includes this file as well, so it knows nothing but the standard library.
#pragma once

#include <cstdint>

#include <syclamp/element_type.hpp>
#include <syclamp/hyper_parameters.hpp>
#include <syclamp/step_decision.hpp>

#include "sycl_kernels/shared/tuning.hpp"

namespace syclamp::kernels {

/// How the weights of a tensor are stored, if kernels have a loop of their own for it.
enum class weight_storage : std::uint32_t {
  master,           ///< FP32
  master_and_fp16,  ///< FP32, and a copy in FP16
  master_and_bf16,  ///< FP32, and a copy in BF16
  split,            ///< BF16, and the lower 16 bits of the FP32
  other,            ///< FP32, and a copy in any type; or anything that is rounded at random
};

/// FP32 weights as BF16 and the lower half of the FP32: words, or packs of words. The upper half is rounded up if the
/// lower one is half a step or more (away from zero in a tie, where to even could not be undone), so that it is the
/// copy that the forward pass reads. Subtracting that step again, in integers, restores the FP32 bit for bit.
/// `joined_halves` ignores the upper 16 bits of `upper`; those of `lower` must be zero.
template <typename Words>
constexpr Words upper_half(Words bits) {
  return (bits + 0x8000u) >> 16;
}
template <typename Words>
constexpr Words joined_halves(Words upper, Words lower) {
  return ((upper - (lower >> 15)) << 16) | lower;
}

inline constexpr std::uint32_t max_states = 3;

/// Where the weights and the state of one tensor lie.
struct parameter_slot {
  std::uint64_t weights;             ///< FP32; if they are split, the lower halves
  std::uint64_t model;               ///< the copy; if they are split, the upper halves; 0: none
  std::uint64_t states[max_states];  ///< moments; 0: none
  element_type model_type;
  element_type state_type;  ///< FP32 or BF16
  weight_storage storage;
  std::uint32_t unused;
};

/// The data of one parameter group.
struct parameter_group {
  hyper_parameters hyper;
  lr_schedule schedule;
  std::uint64_t lr;       ///< address of the learning rate if the caller keeps it, else 0
  std::uint64_t applied;  ///< steps
};

/// The data that all groups share.
struct optimizer_memory {
  std::uint32_t groups;
  std::uint32_t tickets;  ///< work-groups of the running step that are done; 0 between steps
  std::uint32_t stochastic;
  std::uint32_t unused;
  std::uint64_t seed;
  std::uint64_t finished;  ///< steps, applied or skipped
  std::uint64_t progress;  ///< address of a `progress_slot` per group, which the host may be reading
};

/// A 64-bit number in halves: not every device has 64-bit atomics.
struct progress_number {
  std::uint32_t lower, upper;
};
constexpr progress_number split_number(std::uint64_t number) {
  return {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
}

/// The progress of a group, for the host. A kernel writes `begin`, the numbers and `end`, in this order.
struct progress_slot {
  std::uint32_t begin, end;  ///< the lower half of `finished`, if the numbers belong together
  progress_number finished, applied;
  std::uint32_t last_was_applied;
  std::uint32_t unused;
};

/// Sums of squares over a piece of a tensor, for an optimizer with norms per tensor.
struct piece_norms {
  float weights, updates;
};

/// The values that such an optimizer keeps per tensor.
struct tensor_norms {
  float trust;   ///< LAMB: the ratio of the norms of weights and update
  float second;  ///< NovoGrad: the second moment
};

}  // namespace syclamp::kernels
