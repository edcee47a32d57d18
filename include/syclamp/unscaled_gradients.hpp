// SPDX-License-Identifier: Apache-2.0
/// \file
/// A type for gradients that are known to be unscaled.
#pragma once

#include <memory>

#include <syclamp/export.hpp>
#include <syclamp/tensor_list.hpp>

namespace SYCLAMP_NAMESPACE {

// Only the library's own sources complete these types.
struct step_gate;
struct unscaling;

/// A list of FP32 gradients that have been unscaled. Clip operations accept only this type, so clipping scaled
/// gradients by mistake, a common error in training with loss scaling, does not compile.
class SYCLAMP_API unscaled_gradients {
 public:
  /// Declares that gradients were never scaled. The library cannot check this.
  /// \throws invalid_argument if a tensor is not FP32
  static unscaled_gradients never_scaled(tensor_list gradients);

  // Moving is copying, so that a handle that was moved from stays usable.
  unscaled_gradients(const unscaled_gradients&) = default;
  unscaled_gradients(unscaled_gradients&& other) noexcept : unscaled_gradients(other) {}  // NOLINT(performance-move-*)
  unscaled_gradients& operator=(const unscaled_gradients&) = default;
  unscaled_gradients& operator=(unscaled_gradients&& other) noexcept { return *this = other; }

  /// The list of gradients.
  const tensor_list& list() const { return list_; }

  /// The event of the operation that unscaled them.
  const sycl::event& done() const { return done_; }

  // For the library's own operations.
  explicit unscaled_gradients(const unscaling& made);
  const step_gate* gate() const;

 private:
  tensor_list list_;
  sycl::event done_;
  std::shared_ptr<const step_gate> gate_;  ///< of the scaler that unscaled them; null: none
};

}  // namespace SYCLAMP_NAMESPACE
