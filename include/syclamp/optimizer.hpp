// SPDX-License-Identifier: Apache-2.0
/// \file
/// The interface between a loss scaler and an optimizer. Derive from it to use your own optimizer.
#pragma once

#include <cstdint>

#include <sycl/sycl.hpp>

#include <syclamp/export.hpp>
#include <syclamp/step_decision.hpp>
#include <syclamp/tensor_list.hpp>

namespace SYCLAMP_NAMESPACE {

/// The arguments of `optimizer::apply`.
struct step_inputs {
  const tensor_list& gradients;    ///< the gradients: scaled, unless they were unscaled before
  const step_decision* decisions;  ///< one decision, or one per group, in device memory
  bool per_group;                  ///< true: there is one decision per group
};

/// An optimizer: applies gradients to weights.
class SYCLAMP_API optimizer {
 public:
  virtual ~optimizer() = default;

  /// The scaled gradients that the backward pass writes. It must return the same list on every call.
  virtual const tensor_list& gradients() const = 0;

  /// The list that `loss_scaler::unscale` writes unscaled gradients to: FP32 tensors of the same sizes. FP32 gradients
  /// can be unscaled in place, which is the default; 16-bit gradients need a separate list.
  virtual const tensor_list& unscaled_gradients() const { return gradients(); }

  /// Checks numbers in device memory that the step will use, such as learning rates. An implementation submits a kernel
  /// that sets `*invalid_numbers` to 1 if a number is invalid. The scaler then skips the step with the status
  /// `invalid_number`.
  /// \param invalid_numbers  a word in device memory
  /// \return false if there are no such numbers and nothing was submitted, which is the default
  virtual bool check_numbers(std::uint32_t* invalid_numbers) {
    static_cast<void>(invalid_numbers);
    return false;
  }

  /// Submits the step to the queue of the gradients' engine, which the scaler has ordered after all dependencies. It
  /// must not wait. Its kernels must change nothing if the decision that they read on the device is to skip.
  /// \return an event that is complete when the step is
  virtual sycl::event apply(const step_inputs& inputs) = 0;

 protected:
  optimizer() = default;
  optimizer(const optimizer&) = default;
  optimizer& operator=(const optimizer&) = default;
};

}  // namespace SYCLAMP_NAMESPACE
