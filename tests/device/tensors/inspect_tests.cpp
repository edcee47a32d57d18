// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"
#include "tensors/tensor_table.hpp"
#include "tests/reference/inspect.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/formats.hpp"

using namespace syclamp;

namespace {

constexpr std::uint64_t chunk = 65536;

/// Finite numbers with squares that FP32 holds as normal numbers, and a share of zeros and subnormals of both signs.
template <typename Format>
std::vector<typename Format::bits> gradients(std::uint64_t count, std::uint32_t seed) {
  using bits = typename Format::bits;
  constexpr int fraction_bits = Format::format.fraction_bits;
  constexpr int bias = (1 << (Format::format.exponent_bits - 1)) - 1;
  std::mt19937 random(seed);
  std::vector<bits> data(count);
  for (auto& one : data) {
    const auto draw = static_cast<std::uint32_t>(random());
    const bits fraction = static_cast<bits>(std::uint64_t{draw} << 29 | draw >> 4) & ((bits{1} << fraction_bits) - 1);
    const bits exponent = static_cast<bits>(std::max(bias - 13, 1) + (draw >> 28) % std::min(bias, 16));
    const bits negative = (draw & 1) != 0 ? Format::sign : bits{0};
    switch (draw % 16) {
      case 0: one = static_cast<bits>(negative); break;
      case 1: one = static_cast<bits>(negative | fraction); break;  // subnormal, or zero
      default: one = static_cast<bits>(negative | (exponent << fraction_bits) | fraction);
    }
  }
  return data;
}

template <typename Format>
reference::statistics expected(const std::vector<typename Format::bits>& data) {
  return reference::inspect(data.size(), Format::format, [&](std::uint64_t i) { return data[i]; });
}

/// A square enters at most 64 additions in its block, 64 for the blocks of a lane, 31 for the lanes of a pack, 1 for
/// its type and 10 in the tree of a work-group; adding up the chunks costs 4 roundings, and rounding an FP64 to FP32
/// costs its square 2. Terms are not negative, so each
/// rounding adds at most 2^-24 of the sum. Squares of subnormals, which FP32 may round to zero, are far below that.
constexpr double sum_tolerance = (64 + 64 + 31 + 1 + 10 + 4 + 2) * 0x1p-24;

template <typename Format>
void check(const inspection& seen, const std::vector<typename Format::bits>& data) {
  const auto truth = expected<Format>(data);
  CHECK(seen.elements == data.size());
  CHECK(seen.infs == truth.infs);
  CHECK(seen.nans == truth.nans);
  CHECK(seen.zeros == truth.zeros);
  CHECK(seen.subnormals == truth.subnormals);
  CHECK(seen.first_bad == truth.first_bad);
  CHECK(((seen.flags & found_inf) != 0) == (truth.infs != 0));
  CHECK(((seen.flags & found_nan) != 0) == (truth.nans != 0));
  CHECK(seen.all_finite() == (truth.infs + truth.nans == 0));
  CHECK(seen.first_bad_tensor == (seen.all_finite() ? no_element : 0));
  if (truth.nans != 0) {
    CHECK(std::isnan(seen.amax));
  } else if (truth.infs != 0) {
    CHECK(seen.amax == std::numeric_limits<float>::infinity());
    CHECK(seen.sum_of_squares == std::numeric_limits<float>::infinity());
  } else {
    CHECK(seen.worst_bits == std::bit_cast<std::uint64_t>(truth.amax));
    CHECK(static_cast<double>(seen.amax) == reference::rounded_to_float(truth.amax));
    CHECK(std::abs(static_cast<double>(seen.sum_of_squares) - truth.sum_of_squares) <=
          sum_tolerance * truth.sum_of_squares);
  }
}

bool bit_equal(const inspection& a, const inspection& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

template <typename Format>
inspection look(const engine& on, const std::vector<typename Format::bits>& data, std::size_t offset = 0) {
  const device_buffer<typename Format::bits> memory(on.queue(), data, offset);
  const inspection seen = inspect(on, {memory.data(), data.size(), Format::type});
  CHECK(memory.read() == data);
  CHECK(memory.canaries_are_alive());
  return seen;
}

}  // namespace

TEMPLATE_TEST_CASE("inspect agrees with the oracle at every size", "", ALL_FORMATS) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  for (const std::uint64_t count : {0, 1, 15, 16, 17, 127, 128, 129, 4095, 4096, 4097, 65535, 65536, 65537, 100'000}) {
    CAPTURE(count);
    const auto data = gradients<TestType>(count, 1);

    check<TestType>(look<TestType>(on, data), data);
  }
}

TEMPLATE_TEST_CASE("inspect gives the same bits at every alignment", "", ALL_FORMATS) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const auto data = gradients<TestType>(2 * chunk + 77, 2);

  const inspection aligned = look<TestType>(on, data);

  for (const std::size_t offset : {1, 2, 3, 5, 8, 31}) {
    CAPTURE(offset);
    CHECK(bit_equal(look<TestType>(on, data, offset), aligned));
  }
}

TEMPLATE_TEST_CASE("inspect finds a bad element wherever it is", "", ALL_FORMATS) {
  using bits = typename TestType::bits;
  const engine& on = any_engine();
  const auto position = GENERATE(std::uint64_t{0}, 1, 31, 32, 63, 64, chunk - 1, chunk, chunk + 1, 2 * chunk - 1,
                                 2 * chunk, 2 * chunk + 64, 2 * chunk + 75, 2 * chunk + 76);
  CAPTURE(on.profile_name(), position);
  auto data = gradients<TestType>(2 * chunk + 77, 3);

  for (const bits bad : {TestType::infinity, TestType::quiet_nan, TestType::signalling_nan})
    for (const bits sign : {bits{0}, TestType::sign}) {
      data[position] = static_cast<bits>(bad | sign);
      CAPTURE(data[position]);
      check<TestType>(look<TestType>(on, data), data);
    }
}

TEMPLATE_TEST_CASE("inspect counts many bad elements and names the first", "", ALL_FORMATS) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  auto data = gradients<TestType>(5 * chunk + 3, 4);
  for (std::uint64_t i = chunk + 7; i < data.size(); i += 1001)
    data[i] = i % 2 == 0 ? TestType::infinity : TestType::quiet_nan;

  check<TestType>(look<TestType>(on, data), data);

  std::fill(data.begin(), data.end(), TestType::signalling_nan);
  check<TestType>(look<TestType>(on, data), data);
}

TEMPLATE_TEST_CASE("subnormals end where normal numbers begin", "", ALL_FORMATS) {
  using bits = typename TestType::bits;
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  constexpr auto normal = static_cast<bits>(bits{1} << TestType::format.fraction_bits);

  const std::vector<bits> data = {
      0,      TestType::sign,          1,         static_cast<bits>(TestType::sign | 1), normal - 1,
      normal, TestType::sign | normal, normal + 1};
  const inspection seen = look<TestType>(on, data);

  CHECK(seen.zeros == 2);
  CHECK(seen.subnormals == 3);
}

TEMPLATE_TEST_CASE("an amax that is subnormal is exact", "", ALL_FORMATS) {
  using bits = typename TestType::bits;
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  for (int place = 0; place < TestType::format.fraction_bits; ++place) {
    const auto pattern = static_cast<bits>((bits{1} << place) | (place > 1 ? 1 : 0));
    CAPTURE(place);
    const inspection seen = look<TestType>(on, {0, static_cast<bits>(TestType::sign | pattern)});
    CHECK(std::bit_cast<double>(seen.worst_bits) == reference::decode(pattern, TestType::format).value);
  }
}

TEMPLATE_TEST_CASE("the largest finite number is finite", "", ALL_FORMATS) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const auto largest = static_cast<typename TestType::bits>(TestType::infinity - 1);

  const inspection seen = look<TestType>(on, {0, largest, 0});

  CHECK(seen.all_finite());
  CHECK(std::bit_cast<double>(seen.worst_bits) == reference::largest(TestType::format));
}

TEST_CASE("the smallest FP16 subnormal is seen, and squared exactly") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());

  const inspection seen = look<float16>(on, {0x0001, 0x8001, 0x0000, 0x8000});

  CHECK(seen.subnormals == 2);
  CHECK(seen.zeros == 2);
  CHECK(seen.amax == 0x1p-24f);
  CHECK(seen.sum_of_squares == 0x1p-47f);
}

TEST_CASE("chunks add up exactly, in sums, counts and places beyond 2^32") {
  // 2^24 and then seventy thousand ones: each of them alone would be lost from an FP32 sum, together they are not.
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  constexpr std::uint64_t chunks = 70'001;
  kernels::chunk_statistics one{};
  one.elements = chunk;
  one.first_bad = kernels::no_bad_element;
  one.sum_of_squares = 1.0f;
  std::vector<kernels::chunk_statistics> statistics(chunks, one);
  statistics[0].sum_of_squares = 0x1p24f;
  statistics[chunks - 1].infs = 1;
  statistics[chunks - 1].first_bad = 17;
  const device_buffer<kernels::chunk_statistics> memory(on.queue(), statistics);
  const device_buffer<std::uint64_t> starts(on.queue(), {0, 1000 * chunk, chunks * chunk});
  const device_buffer<inspection> result(on.queue(), std::vector<inspection>(1));

  on.kernels().submit(on.queue(), launch::inspect_total, 1, memory.data(), starts.data(), 2, nullptr, result.data());
  on.wait();
  const inspection seen = result.read()[0];

  CHECK(seen.sum_of_squares == 0x1p24f + 70'000.0f);
  CHECK(seen.elements == chunks * chunk);
  CHECK(seen.first_bad_tensor == 1);
  CHECK(seen.first_bad == (chunks - 1 - 1000) * chunk + 17);
  CHECK(result.canaries_are_alive());
}

TEMPLATE_TEST_CASE("inspecting twice gives the same bits, on any number of queues", "", ALL_FORMATS) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const auto data = gradients<TestType>(7 * chunk + 1234, 5);
  const engine other(sycl::queue{on.queue().get_context(), on.queue().get_device(), sycl::property::queue::in_order{}},
                     on.profile_name());

  const inspection first = look<TestType>(on, data);

  for (int i = 0; i < 5; ++i) CHECK(bit_equal(look<TestType>(on, data), first));
  CHECK(bit_equal(look<TestType>(other, data), first));
}

TEST_CASE("cutting the data leaves counts and amax as they are") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  auto data = gradients<float16>(3 * chunk + 11, 6);
  data[chunk + 5] = float16::infinity;

  const inspection whole = look<float16>(on, data);
  const auto middle = data.begin() + 70'001;
  const inspection left = look<float16>(on, {data.begin(), middle});
  const inspection right = look<float16>(on, {middle, data.end()});

  CHECK(whole.zeros == left.zeros + right.zeros);
  CHECK(whole.subnormals == left.subnormals + right.subnormals);
  CHECK(whole.infs == left.infs + right.infs);
  CHECK(whole.worst_bits == std::max(left.worst_bits, right.worst_bits));
  CHECK(whole.flags == (left.flags | right.flags));
}

TEST_CASE("the chunk kernel writes its statistics and nothing else") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const auto data = gradients<float32>(3 * chunk + 1, 7);
  const device_buffer<std::uint32_t> memory(on.queue(), data);
  const device_buffer<kernels::chunk_statistics> statistics(on.queue(), std::vector<kernels::chunk_statistics>(4));
  const tensor_list list(on, array_view(memory.data(), data.size(), element_type::float32));
  const auto& table = list.prepared();

  for (const std::uint64_t groups : {1, 2, 3, 4, 9}) {  // more groups than chunks: some have nothing to do
    CAPTURE(groups);
    on.kernels().submit(on.queue(), launch::inspect_chunks, groups, table.addresses, table.starts, table.kinds,
                        table.tensors, statistics.data());
    on.wait();

    std::uint64_t zeros = 0;
    for (const auto& one : statistics.read()) zeros += one.zeros;
    CHECK(zeros == expected<float32>(data).zeros);
    CHECK(statistics.canaries_are_alive());
  }
}

TEST_CASE("inspect takes two kernels however many tensors") {
  const engine& on = all_engines().front();
  const device_buffer<float> memory(on.queue(), std::vector<float>(10 * chunk, 1.0f));
  std::vector<tensor> tensors(5000, tensor{{memory.data(), 100}});
  const inspector look(tensor_list(on, tensors));

  const auto before = on.kernels_submitted();
  look();

  CHECK(on.kernels_submitted() - before == 2);
  CHECK(look.result().sum_of_squares == 500'000.0f);
}
