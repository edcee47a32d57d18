// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <iterator>

#include <catch2/catch_test_macros.hpp>

#include "backends/profiles.hpp"
#include "launch/jit/source.hpp"
#include "launch/operations.hpp"

using namespace syclamp;
namespace jit = launch::jit;

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
  CHECK(types[4] == "syclamp::inspection*");
}

TEST_CASE("a family has an entry for each of its operations and no others") {
  const std::string text = jit::family_source("tensors/inspect", backends::nvidia_gpu);

  CHECK(text.find(jit::symbol(launch::inspect_chunks, backends::nvidia_gpu) + "(") != text.npos);
  CHECK(text.find(jit::symbol(launch::inspect_total, backends::nvidia_gpu) + "(") != text.npos);
  CHECK(text.find("self_test") == text.npos);
}
