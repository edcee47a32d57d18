// SPDX-License-Identifier: Apache-2.0
#include "launch/jit/spirv.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace syclamp::launch::jit;

namespace {

using words = std::vector<std::uint32_t>;

constexpr std::uint32_t kernel = 7, other_kernel = 8, type = 9, parameter = 10;

words operator+(words left, const words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

words instruction(std::uint32_t code, words operands) {
  operands.insert(operands.begin(), static_cast<std::uint32_t>(operands.size() + 1) << 16 | code);
  return operands;
}

/// The words of OpName with a text of `length` words.
words name(std::uint32_t target, std::size_t length) {
  words operands(length + 1, 0x61616161u);
  operands.front() = target;
  operands.back() = 0x00616161u;
  return instruction(5, operands);
}

words local_size(std::uint32_t target, std::uint32_t items) { return instruction(16, {target, 17, items, 1, 1}); }
words vector_hint(std::uint32_t target) { return instruction(16, {target, 30, 16u << 16 | 5u}); }

/// A module with these execution modes and names.
words module(const words& modes, const words& names) {
  return words{0x07230203, 0x00010400, 0, 20, 0} + instruction(17, {6}) + instruction(15, {6, kernel, 0x0061}) +
         instruction(15, {6, other_kernel, 0x0062}) + modes + names + instruction(19, {type}) +
         instruction(54, {type, kernel, 0, 3}) + instruction(56, {});
}

/// The words as a compiler leaves them: behind other bytes, with zeros at the end.
std::vector<char> in_a_file(const words& module) {
  std::vector<char> bytes(13, 'x');
  const auto* data = reinterpret_cast<const char*>(module.data());
  bytes.insert(bytes.end(), data, data + module.size() * sizeof module[0]);
  bytes.insert(bytes.end(), 8, '\0');
  return bytes;
}

bool contains(const words& all, const words& part) { return !std::ranges::search(all, part).empty(); }

}  // namespace

TEST_CASE("kernels of one work-item are marked, and nothing moves") {
  const words names = name(kernel, 3) + name(type, 2) + name(parameter, 6);
  std::vector<char> bytes = in_a_file(module(local_size(kernel, 1) + local_size(other_kernel, 64), names));
  const std::vector<char> before = bytes;

  CHECK(mark_vector_kernels(bytes) == 1);

  REQUIRE(bytes.size() == before.size());
  CHECK(std::equal(bytes.begin(), bytes.begin() + 13, before.begin()));
  CHECK(std::equal(bytes.end() - 8, bytes.end(), before.end() - 8));
  REQUIRE(spirv_modules(bytes).size() == 1);
  const words after = spirv_modules(bytes).front();
  CHECK(contains(after, local_size(other_kernel, 64) + vector_hint(kernel)));
  CHECK_FALSE(contains(after, vector_hint(other_kernel)));
  CHECK(contains(after, name(kernel, 3)));  // of a function: drivers may read it
  CHECK(contains(after, instruction(54, {type, kernel, 0, 3}) + instruction(56, {})));
  CHECK(mark_vector_kernels(bytes) == 0);  // it has the mark already
}

TEST_CASE("marks fit into names of any length") {
  for (std::size_t first = 1; first <= 8; ++first)
    for (std::size_t second = 1; second <= 8; ++second) {
      CAPTURE(first, second);
      std::vector<char> bytes = in_a_file(module(local_size(kernel, 1), name(type, first) + name(parameter, second)));
      const std::vector<char> before = bytes;
      const std::size_t room = first + second + 4;
      const bool fits = first + 2 == 4 || first + 2 >= 7 || room == 4 || room >= 7;
      CHECK(mark_vector_kernels(bytes) == (fits ? 1 : 0));
      CHECK((bytes == before) != fits);
      CHECK(spirv_modules(bytes).front().size() == spirv_modules(before).front().size());
    }
}

TEST_CASE("a module without names to spare stays as it is") {
  std::vector<char> bytes = in_a_file(module(local_size(kernel, 1), name(kernel, 9)));
  const std::vector<char> before = bytes;
  CHECK(mark_vector_kernels(bytes) == 0);
  CHECK(bytes == before);
}

TEST_CASE("bytes without a module, or with half of one, do no harm") {
  for (const std::size_t length : {0, 3, 19, 20, 21, 40}) {
    CAPTURE(length);
    std::vector<char> bytes = in_a_file(module(local_size(kernel, 1), name(type, 9)));
    bytes.erase(bytes.begin(), bytes.begin() + 13);
    bytes.resize(length);
    const std::vector<char> before = bytes;
    CHECK(mark_vector_kernels(bytes) == 0);
    CHECK(bytes == before);
  }
}
