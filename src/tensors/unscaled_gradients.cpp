// SPDX-License-Identifier: Apache-2.0
#include "syclamp/unscaled_gradients.hpp"

#include <utility>

#include "tensors/list_checks.hpp"
#include "tensors/unscaling.hpp"

namespace SYCLAMP_NAMESPACE {

unscaled_gradients::unscaled_gradients(const unscaling& made) : list_(made.list), done_(made.done), gate_(made.gate) {}

const step_gate* unscaled_gradients::gate() const { return gate_.get(); }

unscaled_gradients unscaled_gradients::never_scaled(tensor_list gradients) {
  check_float32("never_scaled", gradients, "cast it to FP32 first");
  return unscaled_gradients(unscaling{std::move(gradients), {}});
}

}  // namespace SYCLAMP_NAMESPACE
