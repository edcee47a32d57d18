// SPDX-License-Identifier: Apache-2.0
#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/command_queue.hpp"
#include "engine/device_memory.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

static_assert(!std::is_copy_constructible_v<device_array<float>>);
static_assert(std::is_nothrow_move_constructible_v<device_array<float>>);
static_assert(std::is_convertible_v<device_array<float>, array_view>);
static_assert(std::is_convertible_v<device_array<sycl::half>, array_view>);
static_assert(!std::is_convertible_v<device_array<std::uint16_t>, array_view>, "its type does not say what it is");

TEST_CASE("a device array takes values of the host and gives them back") {
  const engine engine;
  const std::vector<float> values{1, 2, 3, 4, 5};
  device_array array(engine, values);

  CHECK(array.size() == 5);
  CHECK(array.to_vector() == values);
  CHECK(inspect(engine, array).sum_of_squares == 55.0f);
  array.upload(std::vector<float>{7, 8});
  CHECK(array.to_vector() == std::vector<float>{7, 8, 3, 4, 5});
  CHECK(device_array<int>(engine, 3, 9).to_vector() == std::vector<int>{9, 9, 9});
}

TEST_CASE("a device array is aligned, and may be empty") {
  const engine engine;
  const device_array<char> bytes(engine, 3);
  const device_array<float> none(engine, 0);

  CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64 == 0);
  CHECK(none.data() != nullptr);
  CHECK(none.to_vector().empty());
  CHECK(device_array<float>().to_vector().empty());
}

TEST_CASE("more values than elements are refused") {
  const engine engine;
  device_array<float> array(engine, 2, 0.0f), none;

  CHECK_THROWS_MATCHES(array.upload(std::vector<float>(3)), invalid_argument,
                       MessageMatches(ContainsSubstring("12 bytes") && ContainsSubstring("8 bytes")));
  CHECK_THROWS_AS(none.upload(std::vector<float>(1)), invalid_argument);
}

TEST_CASE("a device array moves, and frees what it held exactly once") {
  const engine engine;
  const std::uint64_t before = live_arrays_counter();
  {
    device_array<float> first(engine, 10, 1.0f), second(engine, 20, 2.0f);
    const float* address = first.data();
    second = std::move(first);

    CHECK(live_arrays_counter() == before + 1);
    CHECK(second.data() == address);
    CHECK(second.to_vector() == std::vector<float>(10, 1.0f));
    CHECK(first.size() == 0);  // NOLINT(bugprone-use-after-move)
    CHECK(first.data() == nullptr);
  }
  CHECK(live_arrays_counter() == before);
}

TEST_CASE("the host can use shared and host memory directly") {
  const engine engine;
  for (const auto kind : {sycl::usm::alloc::shared, sycl::usm::alloc::host}) {
    const device_array<float> array(engine, 2, 1.0f, kind);
    array.data()[1] = 3.0f;

    CHECK(inspect(engine, array).sum_of_squares == 10.0f);
    CHECK(sycl::get_pointer_type(array.data(), engine.queue().get_context()) == kind);
  }
}

TEST_CASE("a device array is neither made nor read while a graph is recorded") {
  const engine engine;
  const device_array<float> array(engine, 2, 1.0f);

  if (!recorded_step(engine, [] {}).is_recorded()) SKIP("there are no graphs");
  CHECK_THROWS_AS(recorded_step(engine, [&] { device_array<float>(engine, 2); }), misuse_error);
  CHECK_THROWS_AS(recorded_step(engine, [&] { array.to_vector(); }), misuse_error);
}

TEST_CASE("memory is filled by copies where a fill would launch a kernel of DPC++") {
  const engine engine;
  for (const std::size_t count : {0, 1, 2, 3, 63, 64, 65, 1000}) {
    CAPTURE(count);
    device_array<std::uint32_t> words(engine, count + 2, 7u);
    const std::uint32_t word = 0x01020304u;
    fill_by_copies(engine.queue(), words.data() + 1, &word, sizeof word, count).wait();
    std::vector<std::uint32_t> expected(count + 2, word);
    expected.front() = expected.back() = 7u;
    CHECK(words.to_vector() == expected);
  }
}
