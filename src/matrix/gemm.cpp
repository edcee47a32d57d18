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

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "matrix/epilogue.hpp"
#include "matrix/module.hpp"
#include "matrix/path.hpp"
#include "syclamp/error.hpp"

namespace syclamp {
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

/// What each path says of a device and profile. Asked once, because some of the answers are slow to get.
struct availability {
  const path* which;
  std::string obstacle;
};

const std::vector<availability>& paths_of(const engine& on) {
  static std::shared_mutex mutex;
  static auto& known = *new std::unordered_map<sycl::device, std::map<std::string_view, std::vector<availability>>>;
  const sycl::device device = on.queue().get_device();
  {
    const std::shared_lock lock(mutex);
    if (const auto profiles = known.find(device); profiles != known.end())
      if (const auto found = profiles->second.find(on.profile_name()); found != profiles->second.end())
        return found->second;
  }
  std::vector<availability> answers;
  for (const path* one : all_paths()) answers.push_back({one, one->obstacle(on)});
  const std::unique_lock lock(mutex);
  return known[device].emplace(on.profile_name(), std::move(answers)).first->second;  // an entry stays where it is
}

const path& forced_path(const engine& on, const problem& what, std::string_view name, std::string_view asked_by) {
  std::vector<std::string_view> names;
  for (const auto& [one, obstacle] : paths_of(on)) {
    names.push_back(one->name());
    if (one->name() != name) continue;
    const std::string why = obstacle.empty() ? one->refusal(what) : obstacle;
    if (why.empty()) return *one;
    throw invalid_argument(
        fmt::format("gemm: {} asks for the path \"{}\": {}; leave the choice to gemm, or use the "
                    "path \"portable\"",
                    asked_by, name, why));
  }
  throw invalid_argument(fmt::format("gemm: {} asks for the path \"{}\", which does not exist; choose one of {}",
                                     asked_by, name, fmt::join(names, ", ")));
}

const path& choose(const engine& on, const problem& what, std::string_view asked) {
  if (!asked.empty()) return forced_path(on, what, asked, "the caller");
  if (const char* name = std::getenv("SYCLAMP_GEMM"); name != nullptr && *name != '\0')
    return forced_path(on, what, name, "SYCLAMP_GEMM");
  for (const auto& [one, obstacle] : paths_of(on))
    if (obstacle.empty() && one->refusal(what).empty() && one->is_worthwhile(on, what)) return *one;
  return matrix::portable_path();
}

std::string size_of_view(const matrix_view& of) {
  return fmt::format("{} x {}{}", of.rows(), of.columns(), of.is_transposed() ? " (transposed)" : "");
}

void check_view(char name, const matrix_view& of) {
  const std::uint64_t row = of.is_transposed() ? of.rows() : of.columns();
  if (std::ranges::find(matrix_types, of.type()) == std::end(matrix_types))
    throw invalid_argument(
        fmt::format("gemm: {} is {}; it must be float16, bfloat16 or float32: cast it", name, name_of(of.type())));
  if (of.stride() < row)
    throw invalid_argument(fmt::format("gemm: rows of {} have {} elements but begin {} apart", name, row, of.stride()));
  constexpr std::uint64_t most = std::uint64_t{1} << 31;
  if (of.rows() >= most || of.columns() >= most)
    throw invalid_argument(fmt::format("gemm: {} is {}; dimensions must be less than 2^31", name, size_of_view(of)));
  if (of.data() == nullptr && of.rows() != 0 && of.columns() != 0 && of.batch() != 0)
    throw invalid_argument(fmt::format("gemm: {} is null; give it an address in device memory", name));
  if (reinterpret_cast<std::uintptr_t>(of.data()) % size_of(of.type()) != 0)
    throw invalid_argument(fmt::format("gemm: {} is at {}, which is not a multiple of the {} bytes of its elements",
                                       name, of.data(), size_of(of.type())));
}

/// Elements from the first of a matrix to its last; none if it is empty.
std::uint64_t span_of(const matrix_view& of) {
  const std::uint64_t rows = of.is_transposed() ? of.columns() : of.rows();
  const std::uint64_t columns = of.is_transposed() ? of.rows() : of.columns();
  return rows == 0 || columns == 0 ? 0 : (rows - 1) * of.stride() + columns;
}

struct extent {
  explicit extent(const matrix_view& of)
      : extent(of.data(), span_of(of) == 0 ? 0 : (of.batch() - 1) * of.batch_stride() + span_of(of), of.type()) {}
  extent(const void* data, std::uint64_t count, element_type type)
      : begin(reinterpret_cast<std::uintptr_t>(data)), end(begin + count * size_of(type)) {}

  bool meets(const extent& other) const { return begin < other.end && other.begin < end; }

  std::uintptr_t begin, end;
};

void check_overlap(const matrix_view& c, const char* name, const extent& other) {
  if (extent(c).meets(other))
    throw invalid_argument(
        fmt::format("gemm: C overlaps {}, which is still read when C is written; use memory of its "
                    "own for C",
                    name));
}

std::uint64_t step_of(char name, const matrix_view& of, const matrix_view& c) {
  if (of.batch() == c.batch()) return of.batch_stride();
  if (of.batch() == 1) return 0;
  throw invalid_argument(
      fmt::format("gemm: {} has {} matrices and C has {}; it must have as many, or one", name, of.batch(), c.batch()));
}

/// Nothing if C has no elements.
std::optional<problem> checked(const matrix_view& a, const matrix_view& b, const matrix_view& c,
                               const gemm_options& how) {
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
        fmt::format("gemm: matrices of C take {} elements but begin {} apart", span_of(c), c.batch_stride()));
  const bool has_bias = how.bias.count() != 0;
  if (has_bias && how.bias.count() != c.columns())
    throw invalid_argument(
        fmt::format("gemm: the bias has {} elements, but C has {} columns", how.bias.count(), c.columns()));
  if (has_bias) check_view('b', matrix_view(how.bias.data(), 1, how.bias.count(), how.bias.type()));
  if (c.rows() == 0 || c.columns() == 0 || c.batch() == 0) return {};
  check_overlap(c, "A", extent(a));
  check_overlap(c, "B", extent(b));
  if (has_bias) check_overlap(c, "the bias", extent(how.bias.data(), how.bias.count(), how.bias.type()));
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
                 .alpha = how.alpha,
                 .beta = how.beta,
                 .bias = how.bias,
                 .then = how.then};
}

}  // namespace

sycl::event gemm(const engine& on, const matrix_view& a, const matrix_view& b, const matrix_view& c,
                 const gemm_options& how) {
  const auto what = checked(a, b, c, how);
  if (!what) return {};
  const path& chosen = choose(on, *what, how.path);
  // Without an inner dimension there is nothing to multiply, and libraries stumble over it (oneMKL ends the program).
  const path& best = what->k != 0 ? chosen : matrix::portable_path();
  const sycl::event product = best.submit(on, *what);
  return what->has_epilogue() && !best.has_epilogue() ? matrix::submit_epilogue(on, *what) : product;
}

std::vector<gemm_path_report> gemm_paths(const engine& on) {
  std::vector<gemm_path_report> reports;
  for (const auto& [one, obstacle] : paths_of(on))
    reports.push_back(
        {std::string(one->name()), obstacle.empty(), obstacle.empty() ? std::string(one->note()) : obstacle});
  return reports;
}

std::string gemm_path_for(const engine& on, const matrix_view& a, const matrix_view& b, const matrix_view& c,
                          const gemm_options& how) {
  const auto what = checked(a, b, c, how);
  return what ? std::string(choose(on, *what, how.path).name()) : "portable";
}

}  // namespace syclamp
