// SPDX-License-Identifier: Apache-2.0
#include "syclamp/unscaled_gradients.hpp"

#include "tensors/list_checks.hpp"

namespace syclamp {

unscaled_gradients unscaled_gradients::never_scaled(tensor_list gradients) {
  check_float32("never_scaled", gradients, "cast it to FP32 first");
  return {std::move(gradients), {}, nullptr};
}

}  // namespace syclamp
