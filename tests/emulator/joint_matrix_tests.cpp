// SPDX-License-Identifier: Apache-2.0
// The kernels for NVIDIA's matrix units, whose instructions no other device here has. gemm_tests.cpp tests the rest of
// them.
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "launch/operations.hpp"
#include "matrix/tiles.hpp"
#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/reference/matrix.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/matrices.hpp"

using namespace syclamp;

namespace {

struct shape {
  std::size_t m, n, k;
};

// One; odd; a tile of matrix units; tiles and a little more and less; deep.
constexpr shape shapes[] = {{1, 1, 1}, {3, 5, 7}, {16, 16, 16}, {64, 64, 64}, {65, 63, 33}, {130, 70, 40}, {5, 4, 300}};

// Rows that are whole packs of 8 lanes, and rows that end with a part of one.
constexpr shape aligned_shapes[] = {{64, 64, 64}, {72, 72, 40}, {130, 70, 33}};

}  // namespace

TEST_CASE("the kernels for matrix units multiply FP16 and BF16 matrices with wmma") {
  const element_type type = GENERATE(element_type::float16, element_type::bfloat16);
  CAPTURE(to_string(type));
  const engine engine(sycl::queue{sycl::property::queue::in_order{}}, "nvidia_gpu");
  for (const bool is_aligned : {false, true})
    for (const shape& size : is_aligned ? std::span<const shape>(aligned_shapes) : shapes)
      for (const bool is_transposed : {false, true}) {
        const auto [m, n, k] = size;
        CAPTURE(m, n, k, is_transposed, is_aligned);
        const auto matrix_of = [&](std::size_t rows, std::size_t columns, std::uint32_t seed, std::size_t gap) {
          return device_matrix(engine, type, rows, columns, seed, is_aligned ? gap_for_packs(columns) : gap,
                               is_aligned ? 0 : 1);
        };
        const device_matrix a = matrix_of(is_transposed ? k : m, is_transposed ? m : k, 1, 3);
        const device_matrix b = matrix_of(is_transposed ? n : k, is_transposed ? k : n, 2, 5);
        const device_matrix c = matrix_of(m, n, 3, 2);
        const auto before = c.read();
        const matrix::problem product{.a = is_transposed ? transposed(a.view()) : a.view(),
                                      .b = is_transposed ? transposed(b.view()) : b.view(),
                                      .c = c.view(),
                                      .m = static_cast<std::uint32_t>(m),
                                      .n = static_cast<std::uint32_t>(n),
                                      .k = static_cast<std::uint32_t>(k),
                                      .batch = 1,
                                      .a_step = 0,
                                      .b_step = 0,
                                      .c_step = 0,
                                      .alpha = 0.5f,
                                      .beta = 2.0f,
                                      .bias = {},
                                      .function = syclamp::matrix::activation::none};
        matrix::submit_tiles(engine, type == element_type::float16 ? launch::gemm_joint_fp16 : launch::gemm_joint_bf16,
                             product);
        engine.wait();

        const auto in_a = is_transposed ? reference::transposed(a.read()) : a.read();
        const auto in_b = is_transposed ? reference::transposed(b.read()) : b.read();
        const auto expected = reference::product(0.5, in_a, in_b, 2.0, before, {});
        const auto magnitude = reference::product(0.5, in_a, in_b, 2.0, before, {}, true);
        const auto result = c.read();
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < result.values.size(); ++i) {
          const double error = (static_cast<double>(k) + 4) * float_rounding * magnitude.values[i];
          wrong += !(std::abs(result.values[i] - expected.values[i]) <=
                     error + rounding_of(type, std::abs(expected.values[i]) + error));
        }
        CHECK(wrong == 0);
        CHECK(c.is_alone());
      }
}
