// SPDX-License-Identifier: Apache-2.0
// Checks a product and finds the path that is to compute it.
#include "syclamp/matrix/gemm.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/device_fault.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "matrix/epilogue.hpp"
#include "matrix/module.hpp"
#include "matrix/path.hpp"
#include "syclamp/error.hpp"

namespace SYCLAMP_NAMESPACE::matrix {
namespace {

using matrix::path;
using matrix::problem;

/// The preferred ones first. The last one can do everything. (Never destroyed: exit handlers may ask for a product.)
std::vector<const path*> all_paths() {
  std::vector<const path*> all;
#if defined(SYCLAMP_CUBLAS_MODULE)
  static const auto& cublas = *new matrix::module_path("cublas", SYCLAMP_CUBLAS_MODULE);
  all.push_back(&cublas);
#endif
#if defined(SYCLAMP_ROCBLAS_MODULE)
  static const auto& rocblas = *new matrix::module_path("rocblas", SYCLAMP_ROCBLAS_MODULE);
  all.push_back(&rocblas);
#endif
#if defined(SYCLAMP_ONEMKL_MODULE)
  static const auto& onemkl = *new matrix::module_path("onemkl", SYCLAMP_ONEMKL_MODULE);
  all.push_back(&onemkl);
#endif
  all.push_back(&matrix::joint_matrix_path());
  all.push_back(&matrix::portable_path());
  return all;
}

/// Whether each path can be used with a device and profile. Cached, because some of these checks are slow.
struct availability {
  const path* which;
  std::string obstacle;
};

const std::vector<availability>& paths_of(const engine& engine) {
  static std::shared_mutex mutex;
  static auto& known = *new std::unordered_map<sycl::device, std::map<std::string_view, std::vector<availability>>>;
  const sycl::device device = engine.queue().get_device();
  {
    const std::shared_lock lock(mutex);
    if (const auto profiles = known.find(device); profiles != known.end())
      if (const auto found = profiles->second.find(engine.profile_name()); found != profiles->second.end())
        return found->second;
  }
  std::vector<availability> answers;
  for (const path* path : all_paths()) answers.push_back({path, path->obstacle(engine)});
  const std::unique_lock lock(mutex);
  return known[device].emplace(engine.profile_name(), std::move(answers)).first->second;  // an entry stays where it is
}

const path& forced_path(const engine& engine, const problem& product, std::string_view name, std::string_view origin) {
  std::vector<std::string_view> names;
  for (const auto& [path, obstacle] : paths_of(engine)) {
    names.push_back(path->name());
    if (path->name() != name) continue;
    const std::string why = obstacle.empty() ? path->refusal(product) : obstacle;
    if (why.empty()) return *path;
    throw invalid_argument(fmt::format(
        "gemm: the path \"{}\" (from {}) cannot be used: {}; leave the choice to gemm, or use the path \"portable\"",
        name, origin, why));
  }
  throw invalid_argument(fmt::format("gemm: the path \"{}\" (from {}) does not exist; choose one of {}", name, origin,
                                     fmt::join(names, ", ")));
}

const path& choose(const engine& engine, const problem& product, std::string_view requested) {
  if (!requested.empty()) return forced_path(engine, product, requested, "the argument of gemm");
  if (const char* name = std::getenv("SYCLAMP_GEMM"); name != nullptr && *name != '\0')
    return forced_path(engine, product, name, "SYCLAMP_GEMM");
  for (const auto& [path, obstacle] : paths_of(engine))
    if (obstacle.empty() && path->refusal(product).empty() && path->is_worthwhile(engine, product)) return *path;
  return matrix::portable_path();
}

std::string size_of_view(const matrix_shape& matrix) {
  return fmt::format("{} x {}{}", matrix.rows(), matrix.columns(), matrix.is_transposed() ? " (transposed)" : "");
}

void check_view(char name, const const_matrix_view& matrix) {
  const std::uint64_t row = matrix.is_transposed() ? matrix.rows() : matrix.columns();
  if (std::ranges::find(matrix_types, matrix.type()) == std::end(matrix_types))
    throw invalid_argument(fmt::format("gemm: {} is {}; it must be float16, bfloat16 or float32, so cast it first",
                                       name, to_string(matrix.type())));
  if (matrix.stride() < row)
    throw invalid_argument(fmt::format(
        "gemm: rows of {} have {} elements, but their stride is only {}; make the stride at least the row length", name,
        row, matrix.stride()));
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  if (matrix.rows() >= most || matrix.columns() >= most)
    throw invalid_argument(
        fmt::format("gemm: {} is {}; dimensions must be less than 2^31", name, size_of_view(matrix)));
  if (matrix.data() == nullptr && matrix.rows() != 0 && matrix.columns() != 0 && matrix.batch() != 0)
    throw invalid_argument(fmt::format("gemm: {} is null; pass an address in device memory", name));
  if (reinterpret_cast<std::uintptr_t>(matrix.data()) % bytes_per_element(matrix.type()) != 0)
    throw invalid_argument(fmt::format("gemm: {} is at {}, which is not a multiple of the {} bytes of its elements",
                                       name, matrix.data(), bytes_per_element(matrix.type())));
}

/// Elements from the first of a matrix to its last; none if it is empty.
std::uint64_t span_of(const matrix_shape& matrix) {
  const std::uint64_t rows = matrix.is_transposed() ? matrix.columns() : matrix.rows();
  const std::uint64_t columns = matrix.is_transposed() ? matrix.rows() : matrix.columns();
  return rows == 0 || columns == 0 ? 0 : (rows - 1) * matrix.stride() + columns;
}

struct extent {
  explicit extent(const const_matrix_view& matrix)
      : extent(matrix.data(), span_of(matrix) == 0 ? 0 : (matrix.batch() - 1) * matrix.batch_stride() + span_of(matrix),
               matrix.type()) {}
  extent(const void* data, std::uint64_t count, element_type type)
      : begin(reinterpret_cast<std::uintptr_t>(data)), end(begin + count * bytes_per_element(type)) {}

  bool meets(const extent& other) const { return begin < other.end && other.begin < end; }

  std::uintptr_t begin, end;
};

void check_overlap(const matrix_view& c, const char* name, const extent& other) {
  if (extent(c).meets(other))
    throw invalid_argument(
        fmt::format("gemm: C overlaps {}, which is still read while C is written; give C separate memory", name));
}

std::uint64_t step_of(char name, const matrix_shape& matrix, const matrix_shape& c) {
  if (matrix.batch() == c.batch()) return matrix.batch_stride();
  if (matrix.batch() == 1) return 0;
  throw invalid_argument(fmt::format("gemm: {} has {} matrices and C has {}; it must have the same number, or one",
                                     name, matrix.batch(), c.batch()));
}

/// Nothing if C has no elements.
std::optional<problem> checked(const const_matrix_view& a, const const_matrix_view& b, const matrix_view& c,
                               const gemm_options& options) {
  check_view('A', a);
  check_view('B', b);
  check_view('C', c);
  if (c.is_transposed())
    throw invalid_argument("gemm: C is transposed; swap A and B and transpose them instead: C' = B' · A'");
  if (a.rows() != c.rows() || b.columns() != c.columns() || a.columns() != b.rows())
    throw invalid_argument(fmt::format("gemm: A is {}, B is {} and C is {}; they must be m x k, k x n and m x n",
                                       size_of_view(a), size_of_view(b), size_of_view(c)));
  const std::uint64_t a_step = step_of('A', a, c), b_step = step_of('B', b, c);
  if (c.batch() > 1 && c.batch_stride() < span_of(c))
    throw invalid_argument(
        fmt::format("gemm: each matrix of C spans {} elements, but the batch stride is only {}; make the batch stride "
                    "at least as large",
                    span_of(c), c.batch_stride()));
  const bool has_bias = options.bias.count() != 0;
  if (has_bias && options.bias.count() != c.columns())
    throw invalid_argument(
        fmt::format("gemm: the bias has {} elements, but C has {} columns; the bias needs one element per column",
                    options.bias.count(), c.columns()));
  if (has_bias) check_view('b', const_matrix_view(options.bias.data(), 1, options.bias.count(), options.bias.type()));
  if (c.rows() == 0 || c.columns() == 0 || c.batch() == 0) return {};
  check_overlap(c, "A", extent(a));
  check_overlap(c, "B", extent(b));
  if (has_bias) check_overlap(c, "the bias", extent(options.bias.data(), options.bias.count(), options.bias.type()));
  return problem{.a = a,
                 .b = b,
                 .c = c,
                 .m = static_cast<std::uint32_t>(c.rows()),
                 .n = static_cast<std::uint32_t>(c.columns()),
                 .k = static_cast<std::uint32_t>(a.columns()),
                 .batch = c.batch(),
                 .a_step = a_step,
                 .b_step = b_step,
                 .c_step = c.batch_stride(),
                 .alpha = options.alpha,
                 .beta = options.beta,
                 .bias = options.bias,
                 .function = options.function};
}

}  // namespace

sycl::event gemm(const engine& engine, const const_matrix_view& a, const const_matrix_view& b, const matrix_view& c,
                 const gemm_options& options, const std::vector<sycl::event>& dependencies) {
  const auto product = checked(a, b, c, options);
  if (!product) return engine.order_after(dependencies);
  return translated("gemm", [&] {
    const path& chosen = choose(engine, *product, options.path);
    // With an inner dimension of 0 there is nothing to multiply, and some libraries fail (oneMKL ends the program).
    const path& best = product->k != 0 ? chosen : matrix::portable_path();
    engine.order_after(dependencies);
    const sycl::event done = best.submit(engine, *product);
    return product->has_epilogue() && !best.has_epilogue() ? matrix::submit_epilogue(engine, *product) : done;
  });
}

std::vector<gemm_path_report> gemm_paths(const engine& engine) {
  std::vector<gemm_path_report> reports;
  for (const auto& [path, obstacle] : translated("gemm_paths", [&]() -> const auto& { return paths_of(engine); }))
    reports.push_back(
        {std::string(path->name()), obstacle.empty(), obstacle.empty() ? std::string(path->note()) : obstacle});
  return reports;
}

std::string gemm_path_for(const engine& engine, const const_matrix_view& a, const const_matrix_view& b,
                          const matrix_view& c, const gemm_options& options) {
  const auto product = checked(a, b, c, options);
  if (!product) return "portable";
  return translated("gemm_path_for", [&] { return std::string(choose(engine, *product, options.path).name()); });
}

}  // namespace SYCLAMP_NAMESPACE::matrix
