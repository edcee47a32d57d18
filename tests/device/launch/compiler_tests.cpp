// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "backends/profiles.hpp"
#include "launch/jit/compiler.hpp"
#include "launch/jit/source.hpp"
#include "launch/jit/spirv.hpp"
#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
namespace fs = std::filesystem;

TEST_CASE("a kernel that does not compile raises an error with the compiler's log") {
  const syclamp::engine engine;
  try {
    launch::jit::compile(engine.queue().get_device(),
                         "#include <sycl_kernels/base/format.hpp>\nint f() { return nonsense; }");
    FAIL("it compiled");
  } catch (const kernel_build_error& failed) {
    CHECK_THAT(failed.what(), ContainsSubstring("cannot compile"));
    CHECK_THAT(failed.log(), ContainsSubstring("nonsense"));
  }
}

TEST_CASE("without the machine's C++ headers a kernel does not compile, and the error names their package") {
  const syclamp::engine engine;
  std::vector<std::string> options = launch::jit::build_options();
  const temporary_folder empty;
  options.push_back("--sysroot=" + empty.path().string());  // there the compiler looks for /usr/include
  try {
    launch::jit::compile(engine.queue().get_device(),
                         launch::jit::family_source("engine/self_test", *backends::find("generic")), options);
    FAIL("it compiled");
  } catch (const kernel_build_error& failed) {
    CHECK_THAT(failed.log(), ContainsSubstring("file not found"));
    CHECK_THAT(failed.what(), ContainsSubstring("is missing on this machine") && ContainsSubstring("package g++"));
  }
}

TEST_CASE("strict floating point is asked of the run-time compiler") {
  std::string all;
  for (const auto& option : launch::jit::build_options()) all += option + " ";

  CHECK_THAT(all, ContainsSubstring("-fno-fast-math"));
  CHECK_THAT(all, ContainsSubstring("-ffp-contract=off"));
  CHECK_THAT(all, ContainsSubstring("-foffload-fp32-prec-div"));
  CHECK_THAT(all, ContainsSubstring("-foffload-fp32-prec-sqrt"));
}

namespace {

/// The SPIR-V that the run-time compiler makes of `source`.
std::vector<std::vector<std::uint32_t>> spirv_of(const engine& engine, const std::string& source) {
  return launch::jit::spirv_modules(launch::jit::compile(engine.queue().get_device(), source));
}

/// The families of kernels that every device has: all but those for matrix units.
std::set<std::string_view> common_families() {
  std::set<std::string_view> families;
  for (const launch::operation_base* op : launch::operations)
    if (!op->family.starts_with("matrix/gemm_joint")) families.insert(op->family);
  return families;
}

/// The capabilities that a module asks for. Five words come first, then the instructions OpCapability (17), two words
/// each.
std::set<std::uint32_t> capabilities(const std::vector<std::uint32_t>& module) {
  std::set<std::uint32_t> found;
  for (std::size_t at = 5; at + 1 < module.size() && module[at] == (2u << 16 | 17u); at += 2)
    found.insert(module[at + 1]);
  return found;
}

/// LLVM's saturating operations on vectors that were used in `modules`, as "llvm.usub.sat.v4i32". LLVM forms them from
/// comparisons, and SPIR-V has no such thing: the translator writes the comparison again, but leaves the name behind.
std::set<std::string> saturating_vectors(const std::vector<std::vector<std::uint32_t>>& modules) {
  static const std::regex name("llvm\\.[us](add|sub|shl)\\.sat\\.v[0-9]+i[0-9]+");
  std::set<std::string> found;
  for (const auto& module : modules) {
    const auto* text = reinterpret_cast<const char*>(module.data());
    for (std::cregex_iterator match(text, text + module.size() * sizeof module[0], name), end; match != end; ++match)
      found.insert(match->str());
  }
  return found;
}

/// The largest number of elements of a vector that a function of OpenCL returns. Instructions follow the five words of
/// the header.
std::uint32_t largest_function(const std::vector<std::uint32_t>& module) {
  constexpr std::uint32_t vector_type = 23, extended_instruction = 12;
  std::map<std::uint32_t, std::uint32_t> vectors;
  std::uint32_t largest = 1;
  for (std::size_t at = 5; at + 3 < module.size() && module[at] >> 16 != 0; at += module[at] >> 16) {
    const std::uint32_t operation = module[at] & 0xffffu;
    if (operation == vector_type) vectors[module[at + 1]] = module[at + 3];
    if (operation == extended_instruction && vectors.contains(module[at + 1]))
      largest = std::max(largest, vectors.at(module[at + 1]));
  }
  return largest;
}

}  // namespace

TEST_CASE("law 3: no kernel asks for a device with FP64, or with 64-bit atomics") {
  constexpr std::uint32_t kernel = 6, float64 = 10, int64_atomics = 12;
  const syclamp::engine engine;
  for (const std::string_view family : common_families()) {
    CAPTURE(family);
    std::set<std::uint32_t> requested;
    for (const auto& module : spirv_of(engine, launch::jit::family_source(family, *backends::find("generic"))))
      requested.merge(capabilities(module));

    CHECK(requested.contains(kernel));  // the modules were found
    CHECK_FALSE(requested.contains(float64));
    CHECK_FALSE(requested.contains(int64_atomics));
  }
}

TEST_CASE("no kernel of an Intel GPU saturates vectors of integers, on which Intel's compiler crashes") {
  const syclamp::engine engine;
  // The profiles of Intel GPUs, and the one that a GPU gets if they do not fit.
  for (const std::string_view name : {"intel_gpu", "intel_xe_hpg", "generic"})
    for (const std::string_view family : common_families()) {
      CAPTURE(name, family);
      CHECK(saturating_vectors(spirv_of(engine, launch::jit::family_source(family, *backends::find(name)))) ==
            std::set<std::string>{});
    }
}

TEST_CASE(
    "no kernel calls a function of vectors that are longer than OpenCL's, which Intel's compiler for GPUs refuses") {
  const syclamp::engine engine;
  std::uint32_t largest = 1;
  for (const std::string_view family : common_families()) {
    CAPTURE(family);
    // Its packs are the longest.
    for (const auto& module : spirv_of(engine, launch::jit::family_source(family, *backends::find("cpu")))) {
      CHECK(largest_function(module) <= 16);
      largest = std::max(largest, largest_function(module));
    }
  }
  CHECK(largest == 16);  // functions were found
}

TEST_CASE("a kernel that saturates vectors of integers is recognised") {
  const syclamp::engine engine;
  const auto found = [&](const std::string& expression) {
    return saturating_vectors(spirv_of(engine, R"(
#include <sycl/ext/oneapi/kernel_properties/properties.hpp>
using words = unsigned __attribute__((ext_vector_type(2)));
extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::single_task_kernel))
void saturates(words* data) { const words x = data[0], y = data[1]; data[2] = )" +
                                                   expression + "; }"));
  };
  const std::set<std::string> subtraction{"llvm.usub.sat.v2i32"}, addition{"llvm.uadd.sat.v2i32"}, nothing;

  CHECK(found("x > 7u ? x - 7u : words(0)") == subtraction);
  CHECK(found("__builtin_elementwise_max(x, y) - y") == subtraction);
  CHECK(found("x + y < x ? words(~0u) : x + y") == addition);
  CHECK(found("x - y") == nothing);
}

TEST_CASE("headers in the working directory do not become part of our kernels") {
  const temporary_folder folder;
  const fs::path before = fs::current_path();
  for (const auto& file : launch::jit::embedded_files()) {
    fs::create_directories((folder.path() / file.path).parent_path());
    std::ofstream(folder.path() / file.path) << "#error a header of somebody else\n";
  }
  std::string source;
  for (const std::string_view family : common_families())
    source +=
        "#include \"" + std::string(launch::jit::embedded_root) + "sycl_kernels/" + std::string(family) + ".hpp\"\n";
  fs::current_path(folder.path());

  const syclamp::engine engine;
  CHECK_NOTHROW(launch::jit::compile(engine.queue().get_device(), source));

  fs::current_path(before);
}

namespace {

/// Compiled kernels go to a folder of their own, one file a family.
class own_cache {
 public:
  own_cache() {
    if (const char* before = std::getenv("SYCLAMP_CACHE_DIR")) restore_ = before;
    setenv("SYCLAMP_CACHE_DIR", folder_.path().c_str(), 1);
  }
  ~own_cache() { restore_.empty() ? unsetenv("SYCLAMP_CACHE_DIR") : setenv("SYCLAMP_CACHE_DIR", restore_.c_str(), 1); }
  own_cache(const own_cache&) = delete;
  own_cache& operator=(const own_cache&) = delete;

  const fs::path& path() const { return folder_.path(); }

  /// Files say what they are made from.
  std::set<std::string> families() const {
    std::set<std::string> all;
    const std::string include = "#include \"" + std::string(launch::jit::embedded_root) + "sycl_kernels/";
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
      std::ifstream stream(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      const auto begin = text.find(include) + include.size();
      all.insert(text.substr(begin, text.find(".hpp", begin) - begin));
    }
    return all;
  }

 private:
  temporary_folder folder_;
  std::string restore_;
};

}  // namespace

TEST_CASE("a damaged cache file costs a warning and a compilation, and is replaced") {
  const own_cache cache;
  test_arithmetic(engine{});
  REQUIRE(std::distance(fs::directory_iterator(cache.path()), {}) == 1);
  const fs::path file = fs::directory_iterator(cache.path())->path();
  const auto good_size = fs::file_size(file);
  int warnings = 0;
  const auto previous = on_warning([&](std::string_view) { ++warnings; });

  fs::resize_file(file, good_size / 2);
  const bool sound = test_arithmetic(engine{}).sound();
  const auto new_size = fs::file_size(file);

  on_warning(previous);
  CHECK(sound);
  CHECK(warnings == 1);
  CHECK(new_size == good_size);
}

TEST_CASE("each optimizer has as many moments on the host as its rule has in the kernel") {
  const syclamp::engine engine;
  const auto compile = [&](std::uint32_t too_many) {
    std::set<std::string_view> headers;
    std::string source, checks;
    std::size_t steps = 0;
    for (const launch::operation_base* op : launch::operations) {
      if (!op->family.starts_with("optimizer/rules/") || !op->name.ends_with("_step")) continue;
      const auto& step = static_cast<const launch::step_operation&>(*op);
      if (headers.insert(op->family).second)
        source += "#include \"" + std::string(launch::jit::embedded_root) + "sycl_kernels/" + std::string(op->family) +
                  ".hpp\"\n";
      checks += "static_assert(states_of((syclamp::kernels::" + std::string(op->name) +
                "<tuning>*)nullptr) == " + std::to_string(step.states + too_many) + ");\n";
      ++steps;
    }
    CHECK(steps != 0);
    source +=
        "constexpr syclamp::apply_tuning tuning{.max_lanes = 8, .group_size = 1};\n"
        "template <typename Rule, syclamp::apply_tuning Tuning>\n"
        "constexpr unsigned states_of(syclamp::kernels::apply_list<Rule, Tuning>*) { return Rule::states; }\n";
    launch::jit::compile(engine.queue().get_device(), source + checks);
  };
  CHECK_NOTHROW(compile(0));
  try {
    compile(1);
    FAIL("a wrong number was not found");
  } catch (const kernel_build_error& failed) {
    CHECK_THAT(failed.log(), ContainsSubstring("static assertion failed"));
  }
}

TEST_CASE("a profile does not state twice the local memory that its operations need") {
  // That none needs more is asserted where it is compiled. Here a profile states half of it, which must fail.
  const syclamp::engine engine;
  const auto compiles = [&](std::string_view family, const profile& tuned) {
    try {
      launch::jit::compile(engine.queue().get_device(), launch::jit::family_source(family, tuned));
      return true;
    } catch (const kernel_build_error& failed) {
      CHECK_THAT(failed.log(),
                 ContainsSubstring("needs more local memory than the profile " + std::string(tuned.name)));
      return false;
    }
  };
  for (profile tuned : backends::profiles) {
    CAPTURE(tuned.name);
    tuned.local_memory /= 2;
    // The families with the largest needs.
    CHECK_FALSE((compiles("matrix/gemm", tuned) && compiles("matrix/gemm_blocks", tuned) &&
                 compiles("tensors/inspect_tensors", tuned)));
  }
}

TEST_CASE("a scaler compiles what its steps are made of, and nothing else") {
  const own_cache cache;
  const syclamp::engine engine;
  float* gradient = sycl::malloc_device<float>(1, engine.queue());
  engine.queue().memset(gradient, 0, sizeof(float)).wait();
  const tensor_list list(engine, array_view(gradient, 1));
  loss_scaler scaler(engine);
  scaler.prepare(list);
  const std::set<std::string> prepared = cache.families();
  CHECK(prepared == std::set<std::string>{"scaler/inspect_step", "scaler/update"});
  scaler.begin_step();
  scaler.inspect(list);
  scaler.update();
  engine.wait();
  CHECK(cache.families() == prepared);
  scaler.scale(list);
  engine.wait();
  CHECK(cache.families() == std::set<std::string>{"scaler/inspect_step", "scaler/update", "tensors/convert"});
  sycl::free(gradient, engine.queue());
}

TEST_CASE("a scaler compiles what the steps of an FP64 list are made of when it prepares the list") {
  const own_cache cache;
  const syclamp::engine engine;
  const device_array<std::uint64_t> gradient(engine, 1, 0);
  const tensor_list list(engine, array_view(gradient.data(), 1, element_type::float64));
  loss_scaler scaler(engine);
  scaler.prepare(list);
  const std::set<std::string> prepared = cache.families();
  // The scaler compiles its usual steps before it knows a list.
  CHECK(prepared == std::set<std::string>{"scaler/inspect_step", "scaler/scaler", "scaler/update", "tensors/inspect"});
  scaler.begin_step();
  scaler.inspect(list);
  scaler.update();
  engine.wait();
  CHECK(cache.families() == prepared);
}
