// SPDX-License-Identifier: Apache-2.0
// inspect_step: inspect_chunks and inspect_and_decide in one kernel.
//
//   inspect_step   many work-groups   tensors → chunk_statistics[], and from them inspection, decision, open step
//
// The last work-group to finish, found by a ticket, adds up the results of all work-groups in a fixed order and decides
// on the step. One kernel less saves the host a third of the submissions.
//
// For the types that optimizers accept only: the code for the others would double the time to compile the kernel, which
// every training has to wait for. Lists with other types take the two kernels.
#pragma once

#include "sycl_kernels/scaler/scaler.hpp"
#include "sycl_kernels/tensors/inspect.hpp"

namespace syclamp::kernels {

template <reduction_tuning Tuning>
struct inspect_step {
  using walk = chunk_walk<Tuning, gradient_types>;
  using decision = inspect_and_decide<Tuning>;

  struct shared {
    union {
      typename walk::shared chunks;
      typename decision::shared all;
    };
    std::uint32_t is_last;
  };

  [[gnu::always_inline]] static void run(const work_item& item, shared& local, const std::uint64_t* addresses,
                                         const std::uint64_t* starts, const std::uint32_t* kinds, std::uint32_t tensors,
                                         chunk_statistics* statistics, inspection* result, scaler_memory* memory,
                                         scale_state* states, open_step* open_steps, const float* max_norm,
                                         float max_norm_value, std::uint32_t mode, std::uint32_t list,
                                         step_decision* decisions) {
    walk::run(item, local.chunks, {addresses, starts, kinds, tensors}, statistics, only_looking{});
    // The first work-item has written what its group has found: its ticket releases that, and acquires the others'.
    if (item.id == 0) local.is_last = take_ticket(&memory->tickets) + 1 == item.groups ? 1 : 0;
    if constexpr (Tuning.group_size > 1) item.barrier();
    if (local.is_last != 0) {
      if (item.id == 0) memory->tickets = 0;
      decision::run(item, local.all, statistics, starts, tensors, result, memory, states, open_steps, max_norm,
                    max_norm_value, mode, list, decisions);
    }
  }
};

}  // namespace syclamp::kernels
