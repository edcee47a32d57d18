// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "syclamp/unscaled_gradients.hpp"

namespace syclamp {

/// For operations that have unscaled gradients, and for nobody else.
struct unscaled_maker {
  static unscaled_gradients make(const tensor_list& list, sycl::event done) { return {list, std::move(done)}; }
};

}  // namespace syclamp
