// SPDX-License-Identifier: Apache-2.0
// Reductions over a work-group: each policy, with groups and sub-groups of all sizes, has the order that it promises.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <sycl/sycl.hpp>

#include "backends/profiles.hpp"
#include "launch/jit/compiler.hpp"
#include "launch/jit/source.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"

using namespace syclamp;
namespace jit = launch::jit;

namespace {

constexpr std::uint32_t group_sizes[] = {1, 2, 8, 32, 64, 256, 512};
constexpr std::uint32_t widths[] = {1, 2, 16, 32};
constexpr std::uint32_t groups = 2;

// Two reductions in a row use the same local memory. The second one is of the values in reverse.
constexpr std::string_view prologue = R"(
#include <sycl/ext/oneapi/free_function_queries.hpp>
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
#include <sycl/ext/oneapi/work_group_static.hpp>
#include "{root}sycl_kernels/nn/row_sums.hpp"
namespace syclamp::kernels {{
struct word {{ std::uint32_t value; }};
inline word merge(word a, word b) {{ return {{a.value + b.value}}; }}
template <typename T, unsigned GroupSize, unsigned Width, typename Number>
void reduce_twice(T* shared, const Number* in, Number* out) {{
  const work_item item(sycl::ext::oneapi::this_work_item::get_nd_item<1>());
  const unsigned begin = item.group * GroupSize;
  using policy = group_reduction<Width>;
  out[begin + item.id] = policy::template reduce<GroupSize>(item, shared, T{{in[begin + item.id]}}).value;
  out[(item.groups + item.group) * GroupSize + item.id] =
      policy::template reduce<GroupSize>(item, shared, T{{in[begin + GroupSize - 1 - item.id]}}).value;
}}
}}
#define ENTRY(symbol, type, number, group_size, width, sub_groups) \
  extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>)) \
  SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::work_group_size<group_size>)) sub_groups \
  void symbol(const number* in, number* out) {{ \
    sycl::ext::oneapi::experimental::work_group_static<number[group_size]> memory; \
    syclamp::kernels::reduce_twice<syclamp::kernels::type, group_size, width>( \
        reinterpret_cast<syclamp::kernels::type*>(&memory[0]), in, out); \
  }}
#define SUB_GROUPS(size) SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::sub_group_size<size>))
)";

std::string symbol_of(std::string_view type, std::uint32_t group_size, std::uint32_t width,
                      std::uint32_t sub_group_size = 0) {
  return fmt::format("{}_{}_{}_{}", type, group_size, width, sub_group_size);
}

/// The kernels of a type for all groups and widths, and for sizes of sub-groups.
jit::bundle compiled(const engine& engine, std::string_view type, std::string_view number,
                     const std::vector<std::uint32_t>& sub_group_sizes) {
  std::string text = fmt::format(fmt::runtime(prologue), fmt::arg("root", jit::embedded_root));
  for (const std::uint32_t group_size : group_sizes)
    for (const std::uint32_t width : widths)
      for (const std::uint32_t sub_group_size : sub_group_sizes)
        text += fmt::format("ENTRY({}, {}, {}, {}, {}, {})\n", symbol_of(type, group_size, width, sub_group_size), type,
                            number, group_size, width,
                            sub_group_size == 0 ? "" : fmt::format("SUB_GROUPS({})", sub_group_size));
  const sycl::queue queue = engine.queue();
  std::vector<char> spirv = jit::compile(queue.get_device(), text);
  std::vector<char> native = jit::link(queue.get_context(), queue.get_device(), spirv);
  return jit::load(queue.get_context(), queue.get_device(), native);
}

template <typename Number>
std::vector<Number> run(const engine& engine, jit::bundle& kernels, const std::string& symbol, std::uint32_t group_size,
                        const std::vector<Number>& values) {
  const device_buffer<Number> in(engine.queue(), values), out(engine.queue(), std::vector<Number>(2 * values.size()));
  const sycl::kernel kernel = kernels.ext_oneapi_get_kernel(symbol);
  sycl::queue queue = engine.queue();
  queue
      .submit([&](sycl::handler& handler) {
        handler.set_arg(0, in.data());
        handler.set_arg(1, out.data());
        handler.parallel_for(sycl::nd_range<1>(values.size(), group_size), kernel);
      })
      .wait();
  return out.read();
}

/// The definition: without shuffles, the second half is added to the first until one value is left. With shuffles,
/// neighbours are added.
template <typename Number, typename Merge>
Number expected(std::vector<Number> values, std::uint32_t width, Merge merge) {
  while (values.size() > 1) {
    const std::size_t half = values.size() / 2;
    std::vector<Number> next(half);
    for (std::size_t i = 0; i < half; ++i)
      next[i] = width == 1 ? merge(values[i], values[half + i]) : merge(values[2 * i], values[2 * i + 1]);
    values = next;
  }
  return values[0];
}

/// All results of a kernel are what the definition says, bit for bit.
template <typename Number, typename Merge>
void check(const engine& engine, std::string_view type, std::string_view name, const auto& random, Merge merge,
           const std::vector<std::uint32_t>& sub_group_sizes = {0}) {
  jit::bundle kernels = compiled(engine, type, name, sub_group_sizes);
  for (const std::uint32_t size : group_sizes)
    for (const std::uint32_t width : widths)
      for (const std::uint32_t sub_group_size : sub_group_sizes) {
        std::vector<Number> values(std::size_t{groups} * size);
        std::ranges::generate(values, random);
        const std::vector<Number> found =
            run(engine, kernels, symbol_of(type, size, width, sub_group_size), size, values);
        std::size_t wrong = 0;
        for (std::uint32_t group = 0; group < groups; ++group) {
          const auto begin = values.begin() + group * size;
          const Number forward = expected(std::vector<Number>(begin, begin + size), width, merge);
          const Number backward = expected(
              std::vector<Number>(std::reverse_iterator(begin + size), std::reverse_iterator(begin)), width, merge);
          for (std::uint32_t i = 0; i < size; ++i) {
            using bits = std::uint32_t;
            wrong += std::bit_cast<bits>(found[group * size + i]) != std::bit_cast<bits>(forward);
            wrong += std::bit_cast<bits>(found[(groups + group) * size + i]) != std::bit_cast<bits>(backward);
          }
        }
        CAPTURE(type, size, width, sub_group_size);
        CHECK(wrong == 0);
      }
}

std::vector<std::uint32_t> offered_sub_groups(const engine& engine) {
  std::vector<std::uint32_t> sizes{0};
  for (const std::size_t size : engine.queue().get_device().get_info<sycl::info::device::sub_group_sizes>())
    sizes.push_back(static_cast<std::uint32_t>(size));
  return sizes;
}

}  // namespace

TEST_CASE("reductions of integers are complete, in groups of every size") {
  const engine engine;
  std::mt19937 random(1);
  check<std::uint32_t>(
      engine, "word", "unsigned", [&] { return static_cast<std::uint32_t>(random()); },
      [](std::uint32_t a, std::uint32_t b) { return a + b; });
}

TEST_CASE("sums of floats are formed in one order, whatever the size of sub-groups is") {
  const engine engine;
  std::mt19937 random(2);
  std::uniform_real_distribution<float> mantissa(-1.0f, 1.0f);
  std::uniform_int_distribution<int> exponent(-20, 20);
  check<float>(
      engine, "sum_of", "float", [&] { return std::ldexp(mantissa(random), exponent(random)); },
      [](float a, float b) { return a + b; }, offered_sub_groups(engine));
}

TEST_CASE("a maximum is found in every place, Inf and NaN included") {
  const engine engine;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  const auto larger = [](float a, float b) { return std::isnan(a) || b <= a ? a : b; };
  check<float>(
      engine, "row_maximum", "float",
      [&] {
        const auto special = random() % 4096;
        return special == 0 ? NAN : special < 4 ? INFINITY : value(random);
      },
      larger);
}

TEST_CASE("a size of sub-groups that the device does not have is not asked for, and results stay the same") {
  profile unknown = *backends::find("generic"), asking = unknown;
  const engine engine;
  unknown.reduction.sub_group_size = 1u << 20;
  const auto sizes = engine.queue().get_device().get_info<sycl::info::device::sub_group_sizes>();
  asking.reduction.sub_group_size = static_cast<std::uint32_t>(sizes.back());
  CHECK(with_offered_sub_groups(unknown, sizes).reduction.sub_group_size == 0);
  CHECK(with_offered_sub_groups(asking, sizes).reduction.sub_group_size == sizes.back());
  CHECK(with_offered_sub_groups(asking, {}).reduction.sub_group_size == 0);

  // inspect_total of one chunk without elements: it compiles and runs with either profile.
  for (const profile* tuned : {&unknown, &asking}) {
    const auto library = launch::make_kernel_library(engine.queue(), *tuned);
    const device_buffer<std::uint64_t> starts(engine.queue(), std::vector<std::uint64_t>{0, 0});
    const device_buffer<inspection> result(engine.queue(), std::vector<inspection>(1));
    sycl::queue queue = engine.queue();
    library->submit(queue, launch::inspect_total, 1, nullptr, starts.data(), 1, nullptr, 1.0f, result.data()).wait();
    CHECK(result.read()[0].elements == 0);
    CHECK(result.read()[0].scale == 1.0f);
  }
}
