// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a loss scaler has to know of an optimizer. Derive from it to use your own.
#pragma once

#include <cstdint>

#include <sycl/sycl.hpp>

#include <syclamp/export.hpp>
#include <syclamp/step_decision.hpp>
#include <syclamp/tensor_list.hpp>

namespace SYCLAMP_NAMESPACE {

/// What `optimizer::apply` gets.
struct step_inputs {
  const tensor_list& gradients;    ///< as they are: scaled, unless they were unscaled before
  const step_decision* decisions;  ///< in device memory: one, or one for each group of tensors
  bool per_group;                  ///< the decision of a tensor is that of its group
};

/// Something that applies gradients to weights.
class SYCLAMP_API optimizer {
 public:
  virtual ~optimizer() = default;

  /// The gradients as the backward pass leaves them, scaled. The same list on every call.
  virtual const tensor_list& gradients() const = 0;

  /// Where `loss_scaler::unscale` leaves unscaled gradients: FP32 tensors of the same sizes. FP32 gradients can be
  /// their own; 16-bit ones need a shadow.
  virtual const tensor_list& unscaled_gradients() const { return gradients(); }

  /// Checks the numbers in device memory that the step will use, such as learning rates. Submits a kernel that sets
  /// `*invalid_numbers`, in device memory, to 1 if one is unusable. The scaler then skips the step with the status
  /// `invalid_number`.
  /// \return false if there is no such number, so that nothing was submitted
  virtual bool check_numbers(std::uint32_t* invalid_numbers) {
    static_cast<void>(invalid_numbers);
    return false;
  }

  /// Submits the step to the queue of the gradients' engine, which the scaler has ordered after all dependencies of its
  /// own call. It must not wait, and its kernels must leave everything as
  /// it is when the decision that they read on the device says so.
  virtual sycl::event apply(const step_inputs& inputs) = 0;

 protected:
  optimizer() = default;
  optimizer(const optimizer&) = default;
  optimizer& operator=(const optimizer&) = default;
};

}  // namespace SYCLAMP_NAMESPACE
