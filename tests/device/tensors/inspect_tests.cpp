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
  for (auto& entry : data) {
    const auto draw = static_cast<std::uint32_t>(random());
    const bits fraction = static_cast<bits>(std::uint64_t{draw} << 29 | draw >> 4) & ((bits{1} << fraction_bits) - 1);
    const bits exponent = static_cast<bits>(std::max(bias - 13, 1) + (draw >> 28) % std::min(bias, 16));
    const bits negative = (draw & 1) != 0 ? Format::sign : bits{0};
    switch (draw % 16) {
      case 0: entry = static_cast<bits>(negative); break;
      case 1: entry = static_cast<bits>(negative | fraction); break;  // subnormal, or zero
      default: entry = static_cast<bits>(negative | (exponent << fraction_bits) | fraction);
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
void check(const inspection& result, const std::vector<typename Format::bits>& data) {
  const auto truth = expected<Format>(data);
  CHECK(result.elements == data.size());
  CHECK(result.inf_count == truth.inf_count);
  CHECK(result.nan_count == truth.nan_count);
  CHECK(result.zero_count == truth.zero_count);
  CHECK(result.subnormal_count == truth.subnormal_count);
  CHECK(result.first_nonfinite == truth.first_nonfinite);
  CHECK(((result.flags & found_inf) != 0) == (truth.inf_count != 0));
  CHECK(((result.flags & found_nan) != 0) == (truth.nan_count != 0));
  CHECK(result.all_finite() == (truth.inf_count + truth.nan_count == 0));
  CHECK(result.first_nonfinite_tensor == (result.all_finite() ? no_element : 0));
  if (truth.nan_count != 0) {
    CHECK(std::isnan(result.amax));
  } else if (truth.inf_count != 0) {
    CHECK(result.amax == std::numeric_limits<float>::infinity());
    CHECK(result.sum_of_squares == std::numeric_limits<float>::infinity());
  } else {
    CHECK(result.amax_bits == std::bit_cast<std::uint64_t>(truth.amax));
    CHECK(static_cast<double>(result.amax) == reference::rounded_to_float(truth.amax));
    CHECK(std::abs(static_cast<double>(result.sum_of_squares) - truth.sum_of_squares) <=
          sum_tolerance * truth.sum_of_squares);
  }
}

bool bit_equal(const inspection& a, const inspection& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

template <typename Format>
inspection inspect_once(const engine& engine, const std::vector<typename Format::bits>& data, std::size_t offset = 0) {
  const device_buffer<typename Format::bits> memory(engine.queue(), data, offset);
  const inspection result = inspect(engine, {memory.data(), data.size(), Format::type});
  CHECK(memory.read() == data);
  CHECK(memory.canaries_are_alive());
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("inspect agrees with the oracle at every size", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  for (const std::uint64_t count : {0, 1, 15, 16, 17, 127, 128, 129, 4095, 4096, 4097, 65535, 65536, 65537, 100'000}) {
    CAPTURE(count);
    const auto data = gradients<TestType>(count, 1);

    check<TestType>(inspect_once<TestType>(engine, data), data);
  }
}

TEMPLATE_TEST_CASE("inspect gives the same bits at every alignment", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto data = gradients<TestType>(2 * chunk + 77, 2);

  const inspection aligned = inspect_once<TestType>(engine, data);

  for (const std::size_t offset : {1, 2, 3, 5, 8, 31}) {
    CAPTURE(offset);
    CHECK(bit_equal(inspect_once<TestType>(engine, data, offset), aligned));
  }
}

TEMPLATE_TEST_CASE("inspect finds a bad element wherever it is", "", ALL_FORMATS) {
  using bits = typename TestType::bits;
  const engine& engine = any_engine();
  const auto position = GENERATE(std::uint64_t{0}, 1, 31, 32, 63, 64, chunk - 1, chunk, chunk + 1, 2 * chunk - 1,
                                 2 * chunk, 2 * chunk + 64, 2 * chunk + 75, 2 * chunk + 76);
  CAPTURE(engine.profile_name(), position);
  auto data = gradients<TestType>(2 * chunk + 77, 3);

  for (const bits bad : {TestType::infinity, TestType::quiet_nan, TestType::signalling_nan})
    for (const bits sign : {bits{0}, TestType::sign}) {
      data[position] = static_cast<bits>(bad | sign);
      CAPTURE(data[position]);
      check<TestType>(inspect_once<TestType>(engine, data), data);
    }
}

TEMPLATE_TEST_CASE("inspect counts many bad elements and names the first", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  auto data = gradients<TestType>(5 * chunk + 3, 4);
  for (std::uint64_t i = chunk + 7; i < data.size(); i += 1001)
    data[i] = i % 2 == 0 ? TestType::infinity : TestType::quiet_nan;

  check<TestType>(inspect_once<TestType>(engine, data), data);

  std::fill(data.begin(), data.end(), TestType::signalling_nan);
  check<TestType>(inspect_once<TestType>(engine, data), data);
}

TEMPLATE_TEST_CASE("subnormals end where normal numbers begin", "", ALL_FORMATS) {
  using bits = typename TestType::bits;
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  constexpr auto normal = static_cast<bits>(bits{1} << TestType::format.fraction_bits);

  const std::vector<bits> data = {
      0,      TestType::sign,          1,         static_cast<bits>(TestType::sign | 1), normal - 1,
      normal, TestType::sign | normal, normal + 1};
  const inspection result = inspect_once<TestType>(engine, data);

  CHECK(result.zero_count == 2);
  CHECK(result.subnormal_count == 3);
}

TEMPLATE_TEST_CASE("an amax that is subnormal is exact", "", ALL_FORMATS) {
  using bits = typename TestType::bits;
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  for (int place = 0; place < TestType::format.fraction_bits; ++place) {
    const auto pattern = static_cast<bits>((bits{1} << place) | (place > 1 ? 1 : 0));
    CAPTURE(place);
    const inspection result = inspect_once<TestType>(engine, {0, static_cast<bits>(TestType::sign | pattern)});
    CHECK(std::bit_cast<double>(result.amax_bits) == reference::decode(pattern, TestType::format).value);
  }
}

TEMPLATE_TEST_CASE("the largest finite number is finite", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto largest = static_cast<typename TestType::bits>(TestType::infinity - 1);

  const inspection result = inspect_once<TestType>(engine, {0, largest, 0});

  CHECK(result.all_finite());
  CHECK(std::bit_cast<double>(result.amax_bits) == reference::largest(TestType::format));
}

TEST_CASE("the smallest FP16 subnormal is seen, and squared exactly") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());

  const inspection result = inspect_once<float16>(engine, {0x0001, 0x8001, 0x0000, 0x8000});

  CHECK(result.subnormal_count == 2);
  CHECK(result.zero_count == 2);
  CHECK(result.amax == 0x1p-24f);
  CHECK(result.sum_of_squares == 0x1p-47f);
}

TEST_CASE("chunks add up exactly, in sums, counts and places beyond 2^32") {
  // 2^24 and then seventy thousand ones: each of them alone would be lost from an FP32 sum, together they are not.
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  constexpr std::uint64_t chunks = 70'001;
  kernels::chunk_statistics clean{};
  clean.elements = chunk;
  clean.first_nonfinite = kernels::no_bad_element;
  clean.sum_of_squares = 1.0f;
  std::vector<kernels::chunk_statistics> statistics(chunks, clean);
  statistics[0].sum_of_squares = 0x1p24f;
  statistics[chunks - 1].inf_count = 1;
  statistics[chunks - 1].first_nonfinite = 17;
  const device_buffer<kernels::chunk_statistics> memory(engine.queue(), statistics);
  const device_buffer<std::uint64_t> starts(engine.queue(), {0, 1000 * chunk, chunks * chunk});
  const device_buffer<inspection> total(engine.queue(), std::vector<inspection>(1));

  engine.kernels().submit(engine.queue(), launch::inspect_total, 1, memory.data(), starts.data(), 2, nullptr,
                          kernels::no_scalar, total.data());
  engine.wait();
  const inspection result = total.read()[0];

  CHECK(result.sum_of_squares == 0x1p24f + 70'000.0f);
  CHECK(result.elements == chunks * chunk);
  CHECK(result.first_nonfinite_tensor == 1);
  CHECK(result.first_nonfinite == (chunks - 1 - 1000) * chunk + 17);
  CHECK(total.canaries_are_alive());
}

TEMPLATE_TEST_CASE("inspecting twice gives the same bits, on any number of queues", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto data = gradients<TestType>(7 * chunk + 1234, 5);
  const syclamp::engine other(
      sycl::queue{engine.queue().get_context(), engine.queue().get_device(), sycl::property::queue::in_order{}},
      engine.profile_name());

  const inspection first = inspect_once<TestType>(engine, data);

  for (int i = 0; i < 5; ++i) CHECK(bit_equal(inspect_once<TestType>(engine, data), first));
  CHECK(bit_equal(inspect_once<TestType>(other, data), first));
}

TEST_CASE("cutting the data leaves counts and amax as they are") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  auto data = gradients<float16>(3 * chunk + 11, 6);
  data[chunk + 5] = float16::infinity;

  const inspection whole = inspect_once<float16>(engine, data);
  const auto middle = data.begin() + 70'001;
  const inspection left = inspect_once<float16>(engine, {data.begin(), middle});
  const inspection right = inspect_once<float16>(engine, {middle, data.end()});

  CHECK(whole.zero_count == left.zero_count + right.zero_count);
  CHECK(whole.subnormal_count == left.subnormal_count + right.subnormal_count);
  CHECK(whole.inf_count == left.inf_count + right.inf_count);
  CHECK(whole.amax_bits == std::max(left.amax_bits, right.amax_bits));
  CHECK(whole.flags == (left.flags | right.flags));
}

TEST_CASE("the chunk kernel writes its statistics and nothing else") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto data = gradients<float32>(3 * chunk + 1, 7);
  const device_buffer<std::uint32_t> memory(engine.queue(), data);
  const device_buffer<kernels::chunk_statistics> statistics(engine.queue(), std::vector<kernels::chunk_statistics>(4));
  const tensor_list list(engine, array_view(memory.data(), data.size(), element_type::float32));
  const auto& table = list.prepared();

  for (const std::uint64_t groups : {1, 2, 3, 4, 9}) {  // more groups than chunks: some have nothing to do
    CAPTURE(groups);
    engine.kernels().submit(engine.queue(), launch::inspect_chunks, groups, table.addresses, table.starts, table.kinds,
                            table.tensors, statistics.data());
    engine.wait();

    std::uint64_t zeros = 0;
    for (const auto& entry : statistics.read()) zeros += entry.zero_count;
    CHECK(zeros == expected<float32>(data).zero_count);
    CHECK(statistics.canaries_are_alive());
  }
}

TEST_CASE("inspect takes two kernels however many tensors") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), std::vector<float>(10 * chunk, 1.0f));
  std::vector<tensor> tensors(5000, tensor{memory.data(), 100});
  const inspector inspector(tensor_list(engine, tensors));

  const auto before = engine.statistics().kernels_submitted;
  inspector.run();

  CHECK(engine.statistics().kernels_submitted - before == 2);
  CHECK(inspector.result().sum_of_squares == 500'000.0f);
}
