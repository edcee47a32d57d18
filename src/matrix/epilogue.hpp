// SPDX-License-Identifier: Apache-2.0
// Bias and activation after the product of a library that has none.
#pragma once

#include <algorithm>

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "matrix/path.hpp"

namespace SYCLAMP_NAMESPACE::matrix {

inline sycl::event submit_epilogue(const engine& engine, const problem& product) {
  // Matrices that lie one after the other are one with more rows.
  const bool is_one = product.c_step == product.m * product.c.stride();
  const std::uint64_t rows = is_one ? product.m * product.batch : product.m, matrices = is_one ? 1 : product.batch;
  launch::kernel_library& library = engine.kernels();
  sycl::event last;
  for (std::uint64_t i = 0; i < matrices; ++i) {
    auto* c = static_cast<char*>(product.c.data()) + i * product.c_step * bytes_per_element(product.c.type());
    last = library.submit(engine.queue(), launch::activate_rows, library.groups_for(launch::activate_rows, rows), c,
                          product.c.type(), product.c.stride(), c, product.c.type(), product.c.stride(), rows,
                          product.n, product.bias.count() != 0 ? product.bias.data() : nullptr, product.bias.type(),
                          product.function);
  }
  return last;
}

}  // namespace SYCLAMP_NAMESPACE::matrix
