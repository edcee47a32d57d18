// SPDX-License-Identifier: Apache-2.0
// Definitions behind `unscaled_gradients`, the proof that gradients are unscaled. Only the library can make one.
#pragma once

#include <cstdint>
#include <memory>

#include "sycl_kernels/shared/scaler_layout.hpp"
#include "syclamp/export.hpp"
#include "syclamp/unscaled_gradients.hpp"

namespace SYCLAMP_NAMESPACE {

/// Device pointers with which a clip operation refuses a step after the scaler's decision.
struct step_gate {
  kernels::scaler_memory* memory = nullptr;
  kernels::open_step* open_steps = nullptr;
  std::uint32_t scales = 0;
  step_decision* decisions = nullptr;
};

/// An operation that has unscaled gradients makes one.
struct unscaling {
  tensor_list list;
  sycl::event done;
  std::shared_ptr<const step_gate> gate = nullptr;  ///< of the scaler that unscaled them; null: no scaler has
};

}  // namespace SYCLAMP_NAMESPACE
