// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "matrix/tiles.hpp"
#include "syclamp/matrix/matrix.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/reference/matrix.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/matrices.hpp"

using namespace syclamp;
using namespace syclamp::matrix;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

struct shape {
  std::size_t m, n, k;
};

// One; odd; tiles, and one more and one less than tiles; tall; wide; deep; empty.
constexpr shape shapes[] = {{1, 1, 1},     {1, 1, 65},  {3, 5, 7},    {64, 64, 64}, {65, 63, 17},
                            {63, 129, 65}, {200, 3, 5}, {3, 200, 5},  {5, 4, 300},  {17, 19, 0},
                            {0, 5, 3},     {5, 0, 3},   {130, 70, 33}};

// Rows that are whole packs of 8 lanes, and rows that end with a part of one.
constexpr shape aligned_shapes[] = {{64, 64, 64}, {72, 72, 40}, {65, 70, 33}};

/// The paths to test on an engine. Those that are not kernels of ours do not depend on the profile.
std::vector<std::string> paths_to_test(const engine& engine) {
  std::vector<std::string> names;
  for (const auto& entry : gemm_paths(engine))
    if (entry.usable && (entry.name == "portable" || engine.profile_name() == all_engines().front().profile_name()))
      names.push_back(entry.name);
  return names;
}

bool can(const engine& engine, const matrix_view& a, const matrix_view& b, const matrix_view& c,
         const gemm_options& options) {
  try {
    gemm_path_for(engine, a, b, c, options);
    return true;
  } catch (const invalid_argument&) {
    return false;
  }
}

struct setting {
  element_type a = element_type::float32, b = element_type::float32, c = element_type::float32;
  bool a_transposed = false, b_transposed = false;
  std::size_t gap = 0, offset = 0;
  float alpha = 1.0f, beta = 0.0f;
  std::optional<element_type> bias = {};
  activation function = activation::none;
  bool nan_in_c = false;
};

/// True if the product was as exact as it can be asked to be; nothing if the path cannot do it.
std::optional<bool> is_exact(const engine& engine, const std::string& path, shape size, const setting& setting) {
  const auto [m, n, k] = size;
  const device_matrix a(engine, setting.a, setting.a_transposed ? k : m, setting.a_transposed ? m : k, 1, setting.gap,
                        setting.offset);
  const device_matrix b(engine, setting.b, setting.b_transposed ? n : k, setting.b_transposed ? k : n, 2, setting.gap,
                        setting.offset);
  const device_matrix c(engine, setting.c, m, n, 3, setting.gap, setting.offset, setting.nan_in_c);
  const device_matrix bias(engine, setting.bias.value_or(element_type::float32), 1, n, 4);
  const auto before = c.read();
  gemm_options options{.alpha = setting.alpha, .beta = setting.beta, .function = setting.function, .path = path};
  if (setting.bias) options.bias = array_view(bias.view().data(), n, *setting.bias);
  const auto left = setting.a_transposed ? transposed(a.view()) : a.view();
  const auto right = setting.b_transposed ? transposed(b.view()) : b.view();
  if (!can(engine, left, right, c.view(), options)) return {};

  gemm(engine, left, right, c.view(), options);
  engine.wait();

  const auto in_a = setting.a_transposed ? reference::transposed(a.read()) : a.read();
  const auto in_b = setting.b_transposed ? reference::transposed(b.read()) : b.read();
  const auto row = setting.bias ? bias.read().values : std::vector<double>{};
  const auto expected = reference::product(setting.alpha, in_a, in_b, setting.beta, before, row);
  const auto magnitude = reference::product(setting.alpha, in_a, in_b, setting.beta, before, row, true);
  const auto result = c.read();
  bool good = c.is_alone() && a.is_alone() && b.is_alone();
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    // A library may round C once more, before bias and activation. No activation is steeper than 1.13, and ours err by
    // less than 8 roundings of the larger of argument and 1.
    const double y = reference::activated(to_string(setting.function), expected.values[i]);
    const double size_of_terms = magnitude.values[i];
    double error = reference::product_error(k, size_of_terms);
    if (path != "portable" && (setting.bias || setting.function != activation::none))
      error += rounding_of(setting.c, size_of_terms + error);
    if (setting.function != activation::none) error = 1.13 * error + 8 * float_rounding * std::max(size_of_terms, 1.0);
    error += rounding_of(setting.c, std::abs(y) + error);
    if (!(std::abs(result.values[i] - y) <= error)) good = false;
  }
  return good;
}

}  // namespace

TEMPLATE_TEST_CASE("gemm is exact to rounding for every shape and transpose", "", float16, bfloat16, float32) {
  const engine& engine = any_engine();
  for (const auto& path : paths_to_test(engine))
    for (const shape& size : shapes)
      for (const bool a_transposed : {false, true})
        for (const bool b_transposed : {false, true}) {
          CAPTURE(engine.profile_name(), path, size.m, size.n, size.k, a_transposed, b_transposed);
          const setting setting{.a = TestType::type,
                                .b = TestType::type,
                                .c = element_type::float32,
                                .a_transposed = a_transposed,
                                .b_transposed = b_transposed,
                                .nan_in_c = true};  // beta is 0
          CHECK(is_exact(engine, path, size, setting).value_or(false));
        }
}

TEST_CASE("gemm takes every combination of types, rows with gaps and any alignment") {
  const engine& engine = any_engine();
  for (const auto& path : paths_to_test(engine))
    for (const element_type a : matrix_types)
      for (const element_type b : matrix_types)
        for (const element_type c : matrix_types)
          for (const std::size_t gap : {0, 3, 8}) {
            CAPTURE(engine.profile_name(), path, to_string(a), to_string(b), to_string(c), gap);
            const setting setting{.a = a, .b = b, .c = c, .gap = gap, .offset = gap == 3 ? 1u : 0u, .beta = 0.5f};
            const auto exact = is_exact(engine, path, {66, 72, 41}, setting);
            CHECK(exact.value_or(true));
            if (path == "portable" || (a == b && c == element_type::float32)) CHECK(exact.has_value());
          }
}

TEST_CASE("gemm scales, adds to C, adds a bias and activates") {
  const engine& engine = any_engine();
  for (const auto& path : paths_to_test(engine))
    for (const element_type type : matrix_types)
      for (const activation function : activations)
        for (const auto bias :
             {std::optional<element_type>{}, std::optional{type}, std::optional{element_type::float32}})
          for (const auto& [alpha, beta] : {std::pair{1.0f, 0.0f}, {-0.75f, 0.0f}, {0.5f, 1.0f}, {0.0f, 2.0f}}) {
            CAPTURE(engine.profile_name(), path, to_string(type), to_string(function), bias.has_value(), alpha, beta);
            const setting setting{.a = type,
                                  .b = type,
                                  .c = type,
                                  .gap = 1,
                                  .alpha = alpha,
                                  .beta = beta,
                                  .bias = bias,
                                  .function = function};
            CHECK(is_exact(engine, path, {33, 67, 19}, setting).value_or(path != "portable"));
          }
}

TEST_CASE("gemm of a batch is as many products, and one matrix may serve for all") {
  const engine& engine = any_engine();
  const std::size_t batch = 3, m = 17, n = 70, k = 9;
  for (const auto& path : paths_to_test(engine))
    for (const bool shared_b : {false, true}) {
      CAPTURE(engine.profile_name(), path, shared_b);
      const device_matrix a(engine, element_type::float16, batch * m, k, 1),
          b(engine, element_type::float16, batch * k, n, 2);
      const device_matrix c(engine, element_type::float32, batch * m + 2, n, 3);  // two rows that belong to nobody
      const auto part = [&](const device_matrix& matrix, std::size_t first, std::size_t rows) {
        const auto all = matrix.read();
        reference::matrix some(rows, all.columns);
        for (std::size_t i = 0; i < some.values.size(); ++i) some.values[i] = all.values[first * all.columns + i];
        return some;
      };
      const auto before = c.read();
      matrix_view left(a.view().data(), m, k, element_type::float16);
      matrix_view right(b.view().data(), k, n, element_type::float16);
      matrix_view out(c.view().data(), m, n, element_type::float32);
      gemm(engine, batched(left, batch, m * k), shared_b ? right : batched(right, batch, k * n),
           batched(out, batch, m * n), {.path = path});
      engine.wait();

      for (std::size_t i = 0; i < batch; ++i) {
        const auto in_a = part(a, i * m, m), in_b = part(b, shared_b ? 0 : i * k, k);
        const auto expected = reference::product(1, in_a, in_b, 0, reference::matrix(m, n), {});
        const auto magnitude = reference::product(1, in_a, in_b, 0, reference::matrix(m, n), {}, true);
        const auto result = part(c, i * m, m);
        std::size_t wrong = 0;
        for (std::size_t j = 0; j < result.values.size(); ++j)
          wrong += !(std::abs(result.values[j] - expected.values[j]) <= (k + 4) * float_rounding * magnitude.values[j]);
        CHECK(wrong == 0);
      }
      const auto after = c.read();
      for (std::size_t i = batch * m * n; i < after.values.size(); ++i) CHECK(after.values[i] == before.values[i]);
      CHECK(c.is_alone());
    }
}

TEMPLATE_TEST_CASE("the kernel for matrix units is right in everything but their instruction", "", float16, bfloat16) {
  const engine& engine = any_engine();
  const auto& op = TestType::type == element_type::float16 ? launch::gemm_blocks_fp16 : launch::gemm_blocks_bf16;
  for (const bool is_aligned : {false, true})
    for (const shape& size : is_aligned ? std::span<const shape>(aligned_shapes) : shapes)
      for (const bool a_transposed : {false, true})
        for (const bool b_transposed : {false, true}) {
          const auto [m, n, k] = size;
          if (m == 0 || n == 0) continue;
          CAPTURE(engine.profile_name(), m, n, k, a_transposed, b_transposed, is_aligned);
          const auto matrix_of = [&](std::size_t rows, std::size_t columns, std::uint32_t seed, std::size_t gap) {
            return device_matrix(engine, TestType::type, rows, columns, seed, is_aligned ? gap_for_packs(columns) : gap,
                                 is_aligned ? 0 : 1);
          };
          const device_matrix a = matrix_of(a_transposed ? k : m, a_transposed ? m : k, 1, 3);
          const device_matrix b = matrix_of(b_transposed ? n : k, b_transposed ? k : n, 2, 5);
          const device_matrix c = matrix_of(m, n, 3, 2);
          const auto before = c.read();
          const matrix::problem product{.a = a_transposed ? transposed(a.view()) : a.view(),
                                        .b = b_transposed ? transposed(b.view()) : b.view(),
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
                                        .function = activation::none};
          matrix::submit_tiles(engine, op, product);
          engine.wait();

          const auto in_a = a_transposed ? reference::transposed(a.read()) : a.read();
          const auto in_b = b_transposed ? reference::transposed(b.read()) : b.read();
          const auto expected = reference::product(0.5, in_a, in_b, 2.0, before, {});
          const auto magnitude = reference::product(0.5, in_a, in_b, 2.0, before, {}, true);
          const auto result = c.read();
          std::size_t wrong = 0;
          for (std::size_t i = 0; i < result.values.size(); ++i) {
            const double error = (static_cast<double>(k) + 4) * float_rounding * magnitude.values[i];
            wrong += !(std::abs(result.values[i] - expected.values[i]) <=
                       error + rounding_of(TestType::type, std::abs(expected.values[i]) + error));
          }
          CHECK(wrong == 0);
          CHECK(c.is_alone());
        }
}

TEST_CASE("our own gemm gives the same bits with every profile, and each time") {
  std::vector<std::uint64_t> first;
  for (const engine& engine : all_engines()) {
    CAPTURE(engine.profile_name());
    const device_matrix a(engine, element_type::float16, 70, 150, 1), b(engine, element_type::bfloat16, 150, 90, 2);
    for (int time = 0; time < 2; ++time) {
      const device_matrix c(engine, element_type::float32, 70, 90, 3);
      gemm(engine, a.view(), b.view(), c.view(), {.function = activation::gelu, .path = "portable"});
      engine.wait();
      if (first.empty()) first = c.patterns();
      CHECK(c.patterns() == first);
    }
  }
}

TEST_CASE("an Inf or a NaN in a matrix arrives in C") {
  const engine& engine = any_engine();
  const double infinity = reference::decode(float16::infinity, float16::format).value;
  for (const auto& path : paths_to_test(engine))
    for (const activation function : activations) {
      CAPTURE(engine.profile_name(), path, to_string(function));
      const typed_buffer a(engine.queue(), element_type::float16, {float16::infinity, float16::quiet_nan});
      const typed_buffer b(engine.queue(), element_type::float16, {reference::encode(1.0, float16::format)});
      const typed_buffer c(engine.queue(), element_type::float32, {0, 0});
      gemm(engine, matrix_view(a.data(), 2, 1, element_type::float16),
           matrix_view(b.data(), 1, 1, element_type::float16), matrix_view(c.data(), 2, 1, element_type::float32),
           {.function = function, .path = path});
      engine.wait();
      CHECK(c.values()[0] == (function == activation::tanh ? 1.0 : infinity));
      CHECK(std::isnan(c.values()[1]));
    }
}

TEST_CASE("a path can be forced, by the caller and by the environment") {
  const syclamp::engine engine;
  const device_matrix a(engine, element_type::float32, 4, 4, 1), b(engine, element_type::float32, 4, 4, 2);
  const device_matrix c(engine, element_type::float32, 4, 4, 3);
  const auto chosen = [&](std::string_view path) {
    return gemm_path_for(engine, a.view(), b.view(), c.view(), {.path = path});
  };
  const auto restore = std::getenv("SYCLAMP_GEMM");

  CHECK(chosen("portable") == "portable");
  CHECK_THROWS_MATCHES(chosen("abacus"), invalid_argument,
                       MessageMatches(ContainsSubstring("abacus") && ContainsSubstring("portable")));
  setenv("SYCLAMP_GEMM", "portable", 1);
  CHECK(chosen("") == "portable");
  setenv("SYCLAMP_GEMM", "abacus", 1);
  CHECK_THROWS_MATCHES(chosen(""), invalid_argument, MessageMatches(ContainsSubstring("SYCLAMP_GEMM")));
  CHECK(chosen("portable") == "portable");  // what the caller says counts

  restore != nullptr ? setenv("SYCLAMP_GEMM", restore, 1) : unsetenv("SYCLAMP_GEMM");
  CHECK(gemm_paths(engine).back().name == "portable");
  CHECK(gemm_paths(engine).back().usable);
}

TEST_CASE("small products are not left to a library that would wake threads for them") {
  const syclamp::engine engine;
  if (!engine.queue().get_device().is_cpu() || std::getenv("SYCLAMP_GEMM") != nullptr)
    SKIP("the choice is another one");
  const auto chosen = [&](std::uint64_t size) {
    const device_matrix a(engine, element_type::float32, size, size, 1),
        b(engine, element_type::float32, size, size, 2);
    const device_matrix c(engine, element_type::float32, size, size, 3);
    return gemm_path_for(engine, a.view(), b.view(), c.view());
  };
  const auto best = gemm_paths(engine).front();
  CHECK(chosen(64) == "portable");
  CHECK(chosen(256) == (best.usable ? best.name : "portable"));
}

TEST_CASE("gemm refuses what does not fit, and says why") {
  const syclamp::engine engine;
  const device_matrix a(engine, element_type::float32, 4, 6, 1), b(engine, element_type::float32, 6, 5, 2);
  const device_matrix c(engine, element_type::float32, 4, 5, 3);
  const auto refused = [&](const matrix_view& left, const matrix_view& right, const matrix_view& out, const char* why,
                           const gemm_options& options = {}) {
    CHECK_THROWS_MATCHES(gemm(engine, left, right, out, options), invalid_argument,
                         MessageMatches(ContainsSubstring(why)));
  };
  const auto at = [](const matrix_view& matrix, std::uint64_t rows, std::uint64_t columns, std::uint64_t stride = 0) {
    return matrix_view(matrix.data(), rows, columns, matrix.type(), stride);
  };
  refused(b.view(), a.view(), c.view(), "B is 4 x 6");
  refused(a.view(), transposed(b.view()), c.view(), "5 x 6 (transposed)");
  refused(a.view(), b.view(), transposed(at(c.view(), 5, 4)), "C is transposed");
  refused(a.view(), b.view(), at(c.view(), 4, 5, 3), "stride is only 3");
  refused(matrix_view(a.view().data(), 4, 6, element_type::float64), b.view(), c.view(), "float64");
  refused(matrix_view(nullptr, 4, 6, element_type::float32), b.view(), c.view(), "A is null");
  refused(matrix_view(static_cast<char*>(a.view().data()) + 1, 4, 6, element_type::float32), b.view(), c.view(),
          "multiple");
  refused(batched(a.view(), 2, 24), b.view(), c.view(), "2 matrices");
  refused(a.view(), b.view(), batched(at(c.view(), 4, 5), 2, 19), "batch stride is only 19");
  refused(a.view(), b.view(), at(a.view(), 4, 5), "overlaps A");
  refused(a.view(), b.view(), at(b.view(), 4, 5), "overlaps B");
  refused(a.view(), b.view(), c.view(), "5 columns", {.bias = array_view(b.view().data(), 4, element_type::float32)});
  refused(at(a.view(), std::uint64_t{1} << 31, 6), b.view(), at(c.view(), std::uint64_t{1} << 31, 5), "2^31");
}
