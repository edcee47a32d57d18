// SPDX-License-Identifier: Apache-2.0
// Launches the kernels of sycl_kernels/walk/tile.hpp.
#pragma once

#include <limits>

#include <fmt/format.h>

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "matrix/path.hpp"
#include "syclamp/error.hpp"

namespace syclamp::matrix {

template <typename Operation>
sycl::event submit_tiles(const engine& on, const Operation& op, const problem& what) {
  launch::kernel_library& library = on.kernels();
  const auto tile = tile_of(op.tuning(library.tuning()));
  const auto tiles = [](std::uint64_t size, std::uint64_t of_tile) { return (size + of_tile - 1) / of_tile; };
  const std::uint64_t groups = tiles(what.m, tile.rows) * tiles(what.n, tile.columns) * what.batch;
  if (groups > std::numeric_limits<std::uint32_t>::max())
    throw invalid_argument(
        fmt::format("gemm: {} matrices of {} x {} are {} tiles, more than a kernel can count; call it "
                    "for parts of the batch",
                    what.batch, what.m, what.n, groups));
  return library.submit(on.queue(), op, groups, what.a.data(), what.a.type(), what.a.stride(), what.a_step,
                        what.a.is_transposed(), what.b.data(), what.b.type(), what.b.stride(), what.b_step,
                        what.b.is_transposed(), what.output(), what.c.type(), what.c.stride(), what.c_step, what.m,
                        what.n, what.k, what.alpha, what.beta, what.bias.count() != 0 ? what.bias.data() : nullptr,
                        what.bias.type(), what.then);
}

}  // namespace syclamp::matrix
