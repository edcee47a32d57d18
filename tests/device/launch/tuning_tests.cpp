// SPDX-License-Identifier: Apache-2.0
// Every number of a profile must have an effect: on the code of a kernel, or on how many work-groups are launched.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "backends/profiles.hpp"
#include "launch/jit/compiler.hpp"
#include "launch/jit/source.hpp"
#include "launch/jit/spirv.hpp"
#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;
using launch::operation_base;

namespace {

const profile& generic = *backends::find("generic");

/// The code of a family. Symbols are replaced, because they contain all numbers.
std::vector<std::vector<std::uint32_t>> code_of(const engine& engine, std::string_view family, const profile& tuned) {
  std::string source = launch::jit::family_source(family, tuned);
  for (const operation_base* op : launch::operations) {
    const std::string symbol = launch::jit::symbol(*op, tuned);
    if (op->family != family) continue;
    const auto at = source.find(symbol + "(");
    source.replace(at, symbol.size(), op->name);
  }
  return launch::jit::spirv_modules(launch::jit::compile(engine.queue().get_device(), source));
}

/// Another value that kernels can use.
std::uint32_t changed_value(std::string_view class_name, const tuning_number& number) {
  if (number.name == "sub_group_size" || number.name == "shuffle_width") return 16;  // instead of none
  const bool is_smallest = number.name == "pack_bytes" || number.name == "second_pass_lanes" ||
                           ((class_name == "apply" || class_name == "reduction") && number.name == "max_lanes");
  return is_smallest || number.name == "group_size" ? number.value * 2 : number.value / 2;
}

/// Numbers that not every family of their class uses.
bool is_special(std::string_view class_name, std::string_view number) {
  return number == "max_counted_lanes" || number == "shuffle_width" ||
         (class_name == "streaming" && number == "bytes_in_flight");
}

/// Changes the numbers of a class one by one, and compares what becomes of it. `only` names a number that not every
/// family uses; the others are left out then.
template <typename Operation>
void check_numbers(const Operation& op, std::string_view class_name, auto member, std::string_view only = "") {
  const syclamp::engine engine;
  const auto before = code_of(engine, op.family, generic);
  const auto numbers = numbers_of(generic.*member);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CAPTURE(class_name, numbers[i].name);
    profile changed = generic;
    changed.local_memory = 64 * 1024;  // room for any of the changes
    reinterpret_cast<std::uint32_t*>(&(changed.*member))[i] = changed_value(class_name, numbers[i]);
    if (numbers[i].name == "groups_per_unit") {
      if constexpr (requires { op.tuning(generic).groups_per_unit; }) {
        const auto groups = [&](const profile& tuned) {
          return launch::make_kernel_library(engine.queue(), tuned)->groups_for(op, ~std::uint64_t{0});
        };
        CHECK(groups(changed) != groups(generic));
      }
    } else if (only.empty() ? !is_special(class_name, numbers[i].name) : numbers[i].name == only) {
      CHECK(code_of(engine, op.family, changed) != before);
    }
  }
}

}  // namespace

TEST_CASE("each number of a profile changes code, or how much is launched: reduction") {
  check_numbers(launch::inspect_chunks, "reduction", &profile::reduction);
}

TEST_CASE("each number of a profile changes code, or how much is launched: streaming, apply, rows, scalar") {
  check_numbers(launch::clamp_list, "streaming", &profile::streaming);
  check_numbers(launch::count_exponents, "streaming", &profile::streaming, "max_counted_lanes");
  check_numbers(launch::convert_list, "streaming", &profile::streaming, "bytes_in_flight");
  check_numbers(launch::novograd_pieces, "apply", &profile::apply);
  check_numbers(launch::sum_rows, "rows", &profile::rows);
  check_numbers(launch::mean_of_rows, "rows", &profile::rows, "shuffle_width");
  check_numbers(launch::check_rates, "scalar", &profile::scalar);
}

TEST_CASE("each number of a profile changes code, or how much is launched: matrix, blocks") {
  check_numbers(launch::gemm_tiles, "matrix", &profile::matrix);
  check_numbers(launch::gemm_blocks_fp16, "blocks", &profile::blocks);
}
