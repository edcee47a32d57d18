// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/ready_kernels.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "syclamp/log.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace syclamp::launch::jit;
namespace fs = std::filesystem;

namespace {

const std::string key = "compiler 1\nsource of a kernel";
const std::vector<char> spirv = {'s', 'p', 'i', '\0', 'r', 'v'};

/// Whether a file is loaded, and with how many warnings.
struct attempt {
  explicit attempt(const fs::path& file, const std::string& wanted = key) {
    const auto previous = syclamp::on_warning([this](std::string_view) { ++warnings; });
    loaded = load_ready_kernels(file, wanted);
    syclamp::on_warning(previous);
  }
  std::optional<std::vector<char>> loaded;
  int warnings = 0;
};

}  // namespace

TEST_CASE("ready kernels are loaded by the key that they were stored with, and by no other") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "family.spirv";
  CHECK_FALSE(attempt(file).loaded);
  store_ready_kernels(file, key, spirv);

  CHECK(attempt(file).loaded == spirv);
  const attempt other(file, "compiler 2\nsource of a kernel");
  CHECK_FALSE(other.loaded);
  CHECK(other.warnings == 0);  // another runtime is nothing to warn of
}

TEST_CASE("an empty file of ready kernels is no file") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "family.spirv";
  std::ofstream(file).close();
  CHECK_FALSE(attempt(file).loaded);
  CHECK(attempt(file).warnings == 0);
}

TEST_CASE("a damaged file of ready kernels costs a warning") {
  const temporary_folder folder;
  const fs::path file = folder.path() / "family.spirv";
  store_ready_kernels(file, key, spirv);
  const auto size = fs::file_size(file);
  const auto overwrite = [&](std::streamoff at) {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(at).put('!');
  };
  SECTION("the content") { overwrite(static_cast<std::streamoff>(size) - 1); }
  SECTION("the first bytes") { overwrite(0); }
  SECTION("the length") { fs::resize_file(file, size - 1); }
  SECTION("almost all") { fs::resize_file(file, 5); }
  const attempt damaged(file);
  CHECK_FALSE(damaged.loaded);
  CHECK(damaged.warnings == 1);
}

TEST_CASE("each family of a profile has a file of its own") {
  CHECK(ready_kernels_name("cpu", "optimizer/rules/adam") == fs::path("cpu/optimizer-rules-adam.spirv"));
  CHECK(ready_kernels_file("cpu", "x").parent_path().parent_path().filename() == "kernels");
  CHECK(ready_kernels_file("cpu", "x").is_absolute());
}
