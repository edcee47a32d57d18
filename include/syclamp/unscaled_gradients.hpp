// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gradients of which it is known that they are not scaled.
#pragma once

#include <memory>
#include <utility>

#include <syclamp/tensor_list.hpp>

namespace syclamp {

struct step_gate;  // the library's own

/// A list of FP32 gradients that have been unscaled. Clipping takes nothing else: to clip scaled gradients by mistake
/// is the most common error in training with loss scaling, and here it does not compile.
class unscaled_gradients {
 public:
  /// Gradients that never were scaled: the caller's word for it.
  /// \throws invalid_argument if a tensor is not FP32
  static unscaled_gradients never_scaled(tensor_list gradients);

  // Moving is copying, so that a handle that was moved from stays usable.
  unscaled_gradients(const unscaled_gradients&) = default;
  unscaled_gradients(unscaled_gradients&& other) noexcept : unscaled_gradients(other) {}  // NOLINT(performance-move-*)
  unscaled_gradients& operator=(const unscaled_gradients&) = default;
  unscaled_gradients& operator=(unscaled_gradients&& other) noexcept { return *this = other; }

  const tensor_list& list() const { return list_; }

  /// Of the operation that unscaled them.
  const sycl::event& done() const { return done_; }

 private:
  friend struct unscaled_maker;  // the library's own operations
  unscaled_gradients(tensor_list list, sycl::event done, std::shared_ptr<const step_gate> gate)
      : list_(std::move(list)), done_(std::move(done)), gate_(std::move(gate)) {}

  tensor_list list_;
  sycl::event done_;
  std::shared_ptr<const step_gate> gate_;  ///< of the scaler that unscaled them; null: none
};

}  // namespace syclamp
