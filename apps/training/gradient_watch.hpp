// SPDX-License-Identifier: Apache-2.0
// Statistics of stored gradients: zeros, subnormals, exponents.
#pragma once

#include "apps/training/result.hpp"

namespace syclamp::training {

/// Looks at the gradients of the weights and of the output, as they are stored.
class gradient_watch {
 public:
  gradient_watch(const engine& engine, const tensor_list& weights, const const_array_view& output);

  /// Adds the statistics of the present gradients to a result. Waits.
  void record(std::uint64_t step, run_result& result) const;

  /// \throws invalid_argument if a result is of other tensors
  void need_same(const run_result& result) const;

 private:
  inspector inspector_;
};

}  // namespace syclamp::training
