// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "backends/profiles.hpp"
#include "launch/jit/source.hpp"
#include "launch/operations.hpp"

using namespace syclamp;
namespace jit = launch::jit;

namespace {

const profile& nvidia_gpu = *backends::find("nvidia_gpu");

}  // namespace

TEST_CASE("the embedded kernels are the files of this checkout") {
  CHECK_FALSE(jit::embedded_files().empty());
  for (const auto& file : jit::embedded_files()) {
    const std::string folder = file.path.starts_with("syclamp/") ? "/include/" : "/";
    std::ifstream stream(SYCLAMP_SOURCE_DIR + folder + std::string(file.path));
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    CAPTURE(file.path);
    CHECK(stream);
    CHECK(file.text == text);
  }
}

TEST_CASE("parameter types are spelled so that a device compiler can read them") {
  const auto types = launch::inspect_total.parameter_types();

  REQUIRE(types.size() == 6);
  CHECK(types[0] == "const syclamp::kernels::chunk_statistics*");
  CHECK(types[2] == "unsigned int");
  CHECK(types[3] == "const float*");
  CHECK(types[4] == "float");
  CHECK(types[5].starts_with("syclamp::"));  // with the namespace of the ABI
  CHECK(types[5].ends_with("::inspection*"));
}

TEST_CASE("a family has an entry for each of its operations and no others") {
  const std::string text = jit::family_source("tensors/inspect", nvidia_gpu);

  CHECK(text.find(jit::symbol(launch::inspect_chunks, nvidia_gpu) + "(") != text.npos);
  CHECK(text.find(jit::symbol(launch::inspect_total, nvidia_gpu) + "(") != text.npos);
  CHECK(text.find("self_test") == text.npos);
}

TEST_CASE("a kernel's source names the numbers it is tuned by, and each of them is part of its symbol") {
  const auto changed_numbers = [](const profile& base, const profile& changed, const launch::operation_base& op) {
    const bool other_symbol = jit::symbol(op, base) != jit::symbol(op, changed);
    const bool other_source = jit::family_source(op.family, base) != jit::family_source(op.family, changed);
    CHECK(other_symbol == other_source);
    return other_symbol;
  };
  const auto each = [&](const launch::operation_base& op, auto member) {
    const std::string text = jit::family_source(op.family, nvidia_gpu);
    for (std::size_t i = 0; i < numbers_of(nvidia_gpu.*member).size(); ++i) {
      const tuning_number number = numbers_of(nvidia_gpu.*member)[i];
      CAPTURE(op.name, number.name);
      CHECK(text.find("." + std::string(number.name) + " = " + std::to_string(number.value)) != text.npos);
      profile changed = nvidia_gpu;
      reinterpret_cast<std::uint32_t*>(&(changed.*member))[i] = number.value == 0 ? 16 : number.value * 2;
      CHECK(changed_numbers(nvidia_gpu, changed, op));
    }
  };
  each(launch::inspect_chunks, &profile::reduction);
  each(launch::clamp_list, &profile::streaming);
  each(launch::adam_step, &profile::apply);
  each(launch::sum_rows, &profile::rows);
  each(launch::gemm_tiles, &profile::matrix);
  each(launch::gemm_blocks_fp16, &profile::blocks);
  each(launch::check_rates, &profile::scalar);
}

TEST_CASE("a kernel asks for the sub-groups of its class, and for none if the number is 0") {
  const auto asks = [](const profile& tuned, const launch::operation_base& op) {
    const std::string text = jit::family_source(op.family, tuned);
    const auto entry = text.find("SYCLAMP_ENTRY(" + std::to_string(op.group_size(tuned)) + ") SYCLAMP_SUB_GROUPS(");
    return entry != text.npos;
  };
  profile changed = nvidia_gpu;
  changed.reduction.sub_group_size = changed.matrix.sub_group_size = 0;
  CHECK_FALSE(asks(changed, launch::inspect_chunks));
  CHECK_FALSE(asks(changed, launch::gemm_tiles));
  changed.reduction.sub_group_size = 8;
  CHECK(asks(changed, launch::inspect_chunks));
  CHECK_FALSE(asks(changed, launch::gemm_tiles));
  CHECK(jit::family_source("tensors/inspect", changed).find(" SYCLAMP_SUB_GROUPS(8) ") != std::string::npos);
  changed.matrix.sub_group_size = 8;
  CHECK(asks(changed, launch::gemm_tiles));
  CHECK_FALSE(asks(changed, launch::adam_step));  // its class has no such number
}

TEST_CASE("a kernel for matrix units asks for sub-groups that divide its work-group as it does, whatever the profile") {
  const auto entry = [](std::string_view profile_name, const launch::operation_base& op) {
    const std::string text = jit::family_source(op.family, *backends::find(profile_name));
    const auto begin = text.find("\nSYCLAMP_ENTRY(");
    return text.substr(begin + 1, text.find(" __attribute__", begin) - begin - 1);
  };
  for (const auto* op : {&launch::gemm_joint_fp16, &launch::gemm_joint_bf16, &launch::gemm_joint_fp16_8x16,
                         &launch::gemm_joint_bf16_8x16}) {
    CAPTURE(op->name);
    CHECK(entry("intel_gpu", *op) == "SYCLAMP_ENTRY(64) SYCLAMP_SUB_GROUPS(16)");
    CHECK(entry("nvidia_gpu", *op) == "SYCLAMP_ENTRY(128) SYCLAMP_SUB_GROUPS(32)");
  }
  for (const auto* op : {&launch::gemm_joint_fp16_8x8, &launch::gemm_joint_bf16_8x8}) {
    CAPTURE(op->name);
    CHECK(entry("intel_gpu", *op) == "SYCLAMP_ENTRY(64) SYCLAMP_SUB_GROUPS(8)");
    CHECK(entry("intel_xe_hpg", *op) == "SYCLAMP_ENTRY(64) SYCLAMP_SUB_GROUPS(8)");
  }
  profile changed = *backends::find("intel_gpu");
  changed.blocks.group_size = 128;
  CHECK(launch::gemm_joint_fp16.sub_group_size(changed) == 32);
}

TEST_CASE("a family's text is all that it includes, and no more") {
  const std::string text = jit::family_text("tensors/clip", nvidia_gpu);
  const auto has = [&](const std::string& path) { return text.find("\nfile: " + path + "\n") != text.npos; };

  CHECK(text.find(jit::family_source("tensors/clip", nvidia_gpu)) != text.npos);
  CHECK(has("sycl_kernels/tensors/clip.hpp"));
  CHECK(has("sycl_kernels/base/pack.hpp"));  // included by others
  CHECK(has("syclamp/inspection.hpp"));      // a public header
  CHECK_FALSE(has("sycl_kernels/optimizer/rules/adam.hpp"));
}

TEST_CASE("every header of ours that a kernel includes is found") {
  const std::regex include("#\\s*include\\s*[\"<]((sycl_kernels|syclamp)/[^\">]+)[\">]|#\\s*include\\s*\"([^\"]+)\"");
  for (const auto& file : jit::embedded_files()) {
    const std::string text(file.text);
    const auto found = jit::included_files(text);
    for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match) {
      const std::string name = (*match)[1].matched ? (*match)[1] : (*match)[3];
      CAPTURE(file.path, name);
      CHECK(std::ranges::any_of(found, [&](const jit::embedded_file* header) { return header->path == name; }));
    }
  }
}
