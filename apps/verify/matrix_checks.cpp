// SPDX-License-Identifier: Apache-2.0
// Every way to multiply matrices that the device has, against the oracle.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/verify/check.hpp"
#include "apps/verify/comparisons.hpp"
#include "apps/verify/guarded_tensor.hpp"
#include "syclamp/matrix/matrix.hpp"
#include "tests/reference/matrix.hpp"

namespace syclamp::verify {
namespace {

struct shape {
  std::size_t m, n, k;
};
constexpr shape shapes[] = {{1, 1, 1}, {3, 5, 7}, {64, 64, 64}, {65, 63, 17}, {128, 64, 96}, {5, 4, 300}};

bool can_multiply(const engine& engine, const matrix::matrix_view& a, const matrix::matrix_view& b,
                  const matrix::matrix_view& c, const matrix::gemm_options& options) {
  try {
    matrix::gemm_path_for(engine, a, b, c, options);
    return true;
  } catch (const invalid_argument&) {
    return false;
  }
}

template <typename Format>
std::string product_difference(const engine& engine, const std::string& path, const shape& size, int& products) {
  const auto [m, n, k] = size;
  const guarded_tensor<Format> a(engine, finite_gradients<Format>(m * k, 1), 0),
      b(engine, finite_gradients<Format>(k * n, 2), 0);
  const guarded_tensor<float32> c(engine, std::vector<std::uint32_t>(m * n, float32::quiet_nan), 0);
  const matrix::matrix_view left(a.data(), m, k, Format::type), right(b.data(), k, n, Format::type),
      product(c.data(), m, n, element_type::float32);
  const matrix::gemm_options options{.path = path};
  if (!can_multiply(engine, left, right, product, options)) return {};
  ++products;
  matrix::gemm(engine, left, right, product, options);

  reference::matrix in_a(m, k), in_b(k, n);
  const reference::matrix none(m, n);
  in_a.values = a.values();
  in_b.values = b.values();
  const auto expected = reference::product(1, in_a, in_b, 0, none, {});
  const auto magnitude = reference::product(1, in_a, in_b, 0, none, {}, true);
  std::vector<bounded> bounds;
  for (std::size_t i = 0; i < m * n; ++i)
    bounds.push_back({expected.values[i], reference::product_error(k, magnitude.values[i])});
  const std::string difference = compare_values(c.values(), bounds);
  return difference.empty() ? c.written_outside() : difference;
}

check_result multiply(const engine& engine, const std::string& path) {
  std::string all;
  std::vector<std::string> types;
  for_each_gradient_type([&](auto format) {
    int products = 0;
    for (const shape& size : shapes)
      add_difference(all, fmt::format("{}, {} x {} x {}", to_string(format.type), size.m, size.n, size.k),
                     product_difference<decltype(format)>(engine, path, size, products));
    if (products != 0) types.push_back(fmt::format("{} {} products", products, to_string(format.type)));
  });
  if (types.empty()) return {check_outcome::skipped, "the path takes none of the shapes and types"};
  return passed_unless(all, fmt::format("{}", fmt::join(types, ", ")));
}

}  // namespace

std::vector<check> matrix_checks(const engine& engine, const settings& settings) {
  std::vector<check> checks;
  for (const matrix::gemm_path_report& path : matrix::gemm_paths(engine)) {
    const bool is_ours = path.name == "portable" || path.name == "joint_matrix";
    if (settings.is_profile_forced && !is_ours) continue;  // a vendor's library does not depend on the profile
    if (settings.is_profile_forced && !path.usable) continue;
    checks.push_back({fmt::format("matrix products, {}", path.name),
                      path.name == "portable" ? "Update the driver of the device and run verify again."
                                              : "SYCLAMP_GEMM=portable selects kernels that need no library.",
                      [engine, path] {
                        if (!path.usable) return check_result{check_outcome::skipped, path.note};
                        return multiply(engine, path.name);
                      }});
  }
  return checks;
}

}  // namespace syclamp::verify
