// SPDX-License-Identifier: Apache-2.0
// Bias and activation after the product of a library that has none.
#pragma once

#include <algorithm>

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "matrix/path.hpp"

namespace syclamp::matrix {

inline sycl::event submit_epilogue(const engine& on, const problem& what) {
  // Matrices that lie one after the other are one with more rows.
  const bool is_one = what.c_step == what.m * what.c.stride();
  const std::uint64_t rows = is_one ? what.m * what.batch : what.m, matrices = is_one ? 1 : what.batch;
  launch::kernel_library& library = on.kernels();
  sycl::event last;
  for (std::uint64_t i = 0; i < matrices; ++i) {
    auto* c = static_cast<char*>(what.output()) + i * what.c_step * size_of(what.c.type());
    last = library.submit(on.queue(), launch::activate_rows, library.groups_for(launch::activate_rows, rows), c,
                          what.c.type(), what.c.stride(), c, what.c.type(), what.c.stride(), rows, what.n,
                          what.bias.count() != 0 ? what.bias.data() : nullptr, what.bias.type(), what.then);
  }
  return last;
}

}  // namespace syclamp::matrix
