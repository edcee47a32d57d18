// SPDX-License-Identifier: Apache-2.0
// The inside of `unscaled_gradients`.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "sycl_kernels/shared/scaler_layout.hpp"
#include "syclamp/unscaled_gradients.hpp"

namespace syclamp {

/// Device pointers with which a clip operation refuses a step after the scaler's decision.
struct step_gate {
  kernels::scaler_memory* memory = nullptr;
  kernels::open_step* open_steps = nullptr;
  std::uint32_t scales = 0;
  step_decision* decisions = nullptr;
};

/// For operations that have unscaled gradients, and for nobody else.
struct unscaled_maker {
  static unscaled_gradients make(const tensor_list& list, sycl::event done,
                                 std::shared_ptr<const step_gate> gate = nullptr) {
    return {list, std::move(done), std::move(gate)};
  }
  static const step_gate* gate(const unscaled_gradients& gradients) { return gradients.gate_.get(); }
};

}  // namespace syclamp
