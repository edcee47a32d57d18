// SPDX-License-Identifier: Apache-2.0
// The kernels for NVIDIA's matrix units, whose instructions no other device here has. gemm_tests.cpp tests the rest of
// them.
#include <cmath>
#include <cstdint>
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

}  // namespace

TEST_CASE("the kernels for matrix units multiply FP16 and BF16 matrices with wmma") {
  const element_type type = GENERATE(element_type::float16, element_type::bfloat16);
  CAPTURE(to_string(type));
  const engine engine(sycl::queue{sycl::property::queue::in_order{}}, "nvidia_gpu");
  for (const shape& size : shapes)
    for (const bool is_transposed : {false, true}) {
      const auto [m, n, k] = size;
      CAPTURE(m, n, k, is_transposed);
      const device_matrix a(engine, type, is_transposed ? k : m, is_transposed ? m : k, 1, 3, 1);
      const device_matrix b(engine, type, is_transposed ? n : k, is_transposed ? k : n, 2, 5, 1);
      const device_matrix c(engine, type, m, n, 3, 2, 1);
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
