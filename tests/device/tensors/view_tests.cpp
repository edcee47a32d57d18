// SPDX-License-Identifier: Apache-2.0
// Views and tensors that may only be read: they are inputs, and are refused by name where something would be written.
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/nn/nn.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;
using namespace syclamp::matrix;
using namespace syclamp::nn;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

// A pointer to const never becomes something that is written.
static_assert(std::constructible_from<array_view, float*, std::uint64_t>);
static_assert(!std::constructible_from<array_view, const float*, std::uint64_t>);
static_assert(!std::constructible_from<array_view, const void*, std::uint64_t, element_type>);
static_assert(std::constructible_from<const_array_view, const float*, std::uint64_t>);
static_assert(!std::constructible_from<matrix_view, const sycl::half*, std::uint64_t, std::uint64_t>);
static_assert(std::constructible_from<const_matrix_view, const sycl::half*, std::uint64_t, std::uint64_t>);
static_assert(std::is_convertible_v<array_view, const_array_view> &&
              !std::is_convertible_v<const_array_view, array_view>);
static_assert(std::is_convertible_v<matrix_view, const_matrix_view>);
static_assert(!std::is_convertible_v<const_matrix_view, matrix_view>);
static_assert(std::is_convertible_v<device_array<float>, const_array_view>);

// What a tensor's data can be made from.
static_assert(std::is_convertible_v<const float*, element_pointer> &&
              std::is_convertible_v<sycl::half*, element_pointer>);
static_assert(std::is_convertible_v<array_view, element_pointer>);
static_assert(std::is_convertible_v<const_array_view, element_pointer>);
static_assert(std::is_convertible_v<device_array<float>, element_pointer>);
static_assert(!std::is_convertible_v<std::uint16_t*, element_pointer>, "its type does not name a format");
static_assert(!std::is_convertible_v<std::nullptr_t, element_pointer>, "nor does null");

namespace {

constexpr const char* read_only_message =
    "tensor 0 (\"w\") is read-only, because it was given as a pointer to const; pass a pointer to non-const";

template <typename Operation>
void check_refused(Operation operation) {
  CHECK_THROWS_MATCHES(operation(), invalid_argument, MessageMatches(ContainsSubstring(read_only_message)));
}

}  // namespace

TEST_CASE("tensors that may only be read are inputs of every operation") {
  const engine& engine = any_engine();
  const device_buffer<float> memory(engine.queue(), {1.0f, 2.0f, 3.0f}), out(engine.queue(), {0.0f, 0.0f, 0.0f});
  const float* const source = memory.data();
  const tensor_list in(engine, {{.data = source, .count = 3, .name = "w"}}), to(engine, array_view(out.data(), 3));

  cast(in, to);
  engine.wait();
  CHECK(out.read() == std::vector<float>{1.0f, 2.0f, 3.0f});

  unscale(in, to, 2.0f);
  engine.wait();
  CHECK(out.read() == std::vector<float>{0.5f, 1.0f, 1.5f});

  CHECK(inspect(engine, const_array_view(source, 3)).sum_of_squares == 14.0f);
  CHECK(memory.canaries_are_alive());
}

TEST_CASE("tensors that may only be read are refused by name where they would be written") {
  const engine& engine = any_engine();
  const device_buffer<float> memory(engine.queue(), {1.0f, 2.0f, 3.0f}), other(engine.queue(), {4.0f, 5.0f, 6.0f});
  const float* const source = memory.data();
  tensor_list list(engine, {{.data = source, .count = 3, .name = "w"}});
  const tensor_list in(engine, array_view(other.data(), 3));

  check_refused([&] { cast(in, list); });
  check_refused([&] { scale(list, list, 2.0f); });
  check_refused([&] { unscale(list, list, 2.0f); });
  check_refused([&] { accumulate(in, list, 2.0f); });
  check_refused([&] { clear_gradients(list); });
  check_refused([&] { clip_by_value(unscaled_gradients::never_scaled(list), 1.0f); });
  check_refused([&] { list.writable(0); });
  engine.wait();
  CHECK(memory.read() == std::vector<float>{1.0f, 2.0f, 3.0f});

  list.set_address(0, memory.data());  // the same address, by a pointer that may be written
  CHECK(list.writable(0).data() == memory.data());
  cast(in, list);
  engine.wait();
  CHECK(memory.read() == std::vector<float>{4.0f, 5.0f, 6.0f});
}

TEST_CASE("set_addresses makes tensors writable, even where the address stays") {
  const engine& engine = any_engine();
  const device_buffer<float> memory(engine.queue(), {1.0f});
  const float* const source = memory.data();
  tensor_list list(engine, {{.data = source, .count = 1, .name = "w"}});
  list.set_addresses(std::vector<void*>{memory.data()});
  clear_gradients(list);
  engine.wait();
  CHECK(memory.read() == std::vector<float>{0.0f});
}

TEST_CASE("a tensor made from a view has its number of elements") {
  const engine& engine = any_engine();
  const device_array<float> array(engine, 5, 1.0f);
  const tensor_list list(engine, {{.data = array, .name = "all"},
                                  {.data = array_view(array), .count = 2, .name = "some"},
                                  {.data = const_array_view(array.data(), 4)},
                                  {.data = {nullptr, element_type::float16}, .count = 7}});
  CHECK(list[0].count() == 5);
  CHECK(list[1].count() == 2);
  CHECK(list[2].count() == 4);
  CHECK(list[3].count() == 7);
  CHECK(list[3].data() == nullptr);
  CHECK(list.writable(0).data() == array.data());
  CHECK_THROWS_MATCHES(tensor_list(engine, {{.data = array, .count = 6, .name = "w"}}), invalid_argument,
                       MessageMatches(ContainsSubstring("tensor 0 (\"w\"): its count is 6") &&
                                      ContainsSubstring("its view has only 5 elements")));
}

TEST_CASE("layers read matrices that may only be read") {
  const engine& engine = any_engine();
  const device_buffer<float> x(engine.queue(), {1.0f, 2.0f}), w(engine.queue(), {3.0f, 4.0f}),
      b(engine.queue(), {5.0f}), y(engine.queue(), {0.0f});
  const float *const input = x.data(), *const weight = w.data(), *const bias = b.data();
  linear(engine, const_matrix_view(input, 1, 2), const_matrix_view(weight, 1, 2), {bias, 1},
         matrix_view(y.data(), 1, 1));
  engine.wait();
  CHECK(y.read() == std::vector<float>{16.0f});
}
