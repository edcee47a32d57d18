// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of sycl_kernels/walk/tile.hpp.
#pragma once

#include <limits>

#include <fmt/format.h>

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "matrix/path.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE::matrix {

template <typename Operation>
sycl::event submit_tiles(const engine& engine, const Operation& op, const problem& product) {
  launch::kernel_library& library = engine.kernels();
  const auto tile = tile_of(op.tuning(library.tuning()));
  const auto tiles = [](std::uint64_t size, std::uint64_t of_tile) { return (size + of_tile - 1) / of_tile; };
  const std::uint64_t groups = tiles(product.m, tile.rows) * tiles(product.n, tile.columns) * product.batch;
  if (groups > std::numeric_limits<std::uint32_t>::max())
    throw invalid_argument(
        fmt::format("gemm: {} matrices of {} x {} need {} tiles, which is more than a kernel can count; split the "
                    "batch into several calls",
                    product.batch, product.m, product.n, groups));
  return library.submit(engine.queue(), op, groups, product.a.data(), product.a.type(), product.a.stride(),
                        product.a_step, product.a.is_transposed(), product.b.data(), product.b.type(),
                        product.b.stride(), product.b_step, product.b.is_transposed(), product.c.data(),
                        product.c.type(), product.c.stride(), product.c_step, product.m, product.n, product.k,
                        product.alpha, product.beta, product.bias.count() != 0 ? product.bias.data() : nullptr,
                        product.bias.type(), product.function);
}

}  // namespace SYCLAMP_NAMESPACE::matrix
