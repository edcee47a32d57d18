// SPDX-License-Identifier: Apache-2.0
// The numeric laws that every kernel obeys, one test each (docs/numerics.md).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

std::vector<float> ordinary_gradients(std::size_t count) {
  std::mt19937 random(41);
  std::vector<float> values(count);
  for (auto& entry : values)
    entry = std::ldexp(static_cast<float>(random() % 2048) - 1024.0f, -static_cast<int>(random() % 30));
  return values;
}

}  // namespace

TEST_CASE("law 1: Inf and NaN are tested on integer bits, and told apart") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const device_buffer<std::uint16_t> memory(engine.queue(), all);

  const inspection result = inspect(engine, {memory.data(), all.size(), element_type::float16});

  CHECK(result.inf_count == 2);
  CHECK(result.nan_count == 2 * 1023);
  CHECK(result.zero_count == 2);
  CHECK(result.subnormal_count == 2 * 1023);
  CHECK(result.flags == (found_inf | found_nan));
}

TEST_CASE("law 2: flags are bits that are ORed and stay until update") {
  const engine& engine = any_engine();
  const std::uint32_t scales = GENERATE(1u, 2u);  // with several, inspections are about groups
  CAPTURE(engine.profile_name(), scales);
  const device_buffer<float> memory(
      engine.queue(), {1.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()});
  const auto list_at = [&](std::size_t index) { return tensor_list(engine, array_view(memory.data() + index, 1)); };
  const tensor_list good = list_at(0), infinite = list_at(1), undefined = list_at(2);
  loss_scaler scaler(engine, {.init_scale = 1}, {.scales = scales});
  const auto flags_after = [&](const std::vector<tensor_list>& lists) {
    scaler.begin_step();
    for (const tensor_list& list : lists) scaler.inspect(list);
    scaler.update();
    return scaler.outcome().flags;
  };

  CHECK(flags_after({good}) == found_nothing);
  CHECK(flags_after({infinite, good}) == found_inf);
  CHECK(flags_after({undefined, good, infinite}) == (found_inf | found_nan));
  engine.queue().fill(scaler.device_user_flags(), std::uint32_t{found_by_user}, 1);
  CHECK(flags_after({good, undefined}) == (found_by_user | found_nan));
  CHECK(flags_after({good}) == found_nothing);
}

TEST_CASE("law 3: FP64 gradients are read by integers, exactly rounded to FP32") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  std::mt19937_64 random(42);
  std::vector<double> values(70'001);
  for (auto& entry : values) entry = std::bit_cast<double>(random());  // of any exponent
  for (std::size_t i = 0; i < values.size(); i += 2) {                 // of FP32's exponents, its subnormals included
    const double fraction = static_cast<double>(random() >> 12) * 0x1p-52;
    values[i] = std::ldexp(1.0 + fraction, static_cast<int>(random() % 300) - 160);
  }
  values[7] = 1.0 + 0x1p-24;            // a tie, to even
  values[8] = 1.0 + 0x1p-24 + 0x1p-52;  // just above
  values[9] = 0x1.ffffff0p127;          // a tie between the largest FP32 and Inf
  values[10] = 0x1.fffffeffffffep127;   // just below
  const device_buffer<double> memory(engine.queue(), values);
  const device_buffer<float> out(engine.queue(), std::vector<float>(values.size()));

  cast(tensor_list(engine, array_view(memory.data(), values.size(), element_type::float64)),
       tensor_list(engine, array_view(out.data(), values.size())));
  engine.wait();

  const auto result = out.read();
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!same_number<float32>(std::bit_cast<std::uint32_t>(result[i]),
                              reference::encode(values[i], reference::binary32)))
      ++wrong;
  CHECK(wrong == 0);
}

TEST_CASE("law 4: unscaling by a power of two is exact up to the largest scale") {
  const engine& engine = any_engine();
  const int exponent = GENERATE(-126, -14, 0, 16, 24, 100, 126, 127);
  CAPTURE(engine.profile_name(), exponent);
  const float s = std::ldexp(1.0f, exponent);
  const std::vector<float> values = {s, 3.0f * s / 4.0f, -s / 2.0f, std::ldexp(1.0f, exponent - 100), 0.0f};
  const device_buffer<float> memory(engine.queue(), values), out(engine.queue(), std::vector<float>(5));
  const device_scalar scale(engine, s);

  unscale(tensor_list(engine, array_view(memory.data(), 5)), tensor_list(engine, array_view(out.data(), 5)), scale);
  engine.wait();

  std::vector<float> expected;
  for (const float value : values)
    expected.push_back(static_cast<float>(std::ldexp(static_cast<double>(value), -exponent)));
  CHECK(out.read() == expected);
}

TEST_CASE("law 6: unscaled gradients are FP32; an output of 16 bits, which would lose them, is refused") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const auto narrow_type = GENERATE(element_type::float16, element_type::bfloat16);
  const device_buffer<std::uint16_t> scaled(engine.queue(), {0x0400}), lossy(engine.queue(), {0xffff});  // 2^-14
  const device_buffer<float> out(engine.queue(), {7.0f});
  const tensor_list in(engine, array_view(scaled.data(), 1, element_type::float16)),
      narrow(engine, array_view(lossy.data(), 1, narrow_type)), wide(engine, array_view(out.data(), 1));
  const device_scalar scale(engine, 65536.0f);
  loss_scaler scaler(engine);

  CHECK_THROWS_AS(unscale(in, narrow, scale), invalid_argument);
  CHECK_THROWS_AS(inspector(in).unscale(narrow, scale), invalid_argument);
  scaler.begin_step();
  CHECK_THROWS_AS(scaler.unscale(in, narrow), invalid_argument);
  unscale(in, wide, scale);
  engine.wait();

  CHECK(out.read()[0] == 0x1p-30f);
  CHECK(lossy.read()[0] == 0xffff);
}

TEST_CASE("law 7: a gradient of 5.96e-8 survives when it is scaled, subnormals of FP16 are exact") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const float tiny = 0x1p-24f;  // 5.96e-8
  const device_buffer<float> loss(engine.queue(), {tiny * 0x1p-10f, 1.0f});
  const device_buffer<std::uint16_t> scaled(engine.queue(), {0, 0});
  const device_buffer<float> unscaled(engine.queue(), {0.0f, 0.0f});
  const tensor_list wide(engine, array_view(loss.data(), 2)),
      half(engine, array_view(scaled.data(), 2, element_type::float16)), out(engine, array_view(unscaled.data(), 2));
  const device_scalar s(engine, 1024.0f);

  scale(wide, half, s);
  unscale(half, out, s);
  engine.wait();

  CHECK(scaled.read()[0] == 0x0001);
  CHECK(unscaled.read()[0] == tiny * 0x1p-10f);
}

TEST_CASE("law 8: finite gradients whose norm overflows are not an overflow, and are not clipped") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> memory(engine.queue(), std::vector<float>(70'000, 1e38f));
  const device_buffer<clip_result> result(engine.queue(), std::vector<clip_result>(1));
  const inspector inspector(tensor_list(engine, array_view(memory.data(), 70'000)));
  const device_scalar limit(engine, 1.0f);

  inspector.run();
  clip_coefficient(engine, inspector.device_result(), limit, result.data());
  engine.wait();

  CHECK(inspector.result().all_finite());
  CHECK(std::isinf(result.read()[0].norm));
  CHECK(result.read()[0].coefficient == 1.0f);
}

TEST_CASE("law 9: same data, same bits; cutting and permuting tensors changes nothing but the order of the sum") {
  const engine& engine = any_engine();
  const inspection_level level = GENERATE(inspection_level::list, inspection_level::histogram);
  const bool finite = GENERATE(true, false);
  CAPTURE(engine.profile_name(), finite);
  auto values = ordinary_gradients(200'003);
  if (!finite) values[150'000] = std::numeric_limits<float>::infinity();
  const device_buffer<float> memory(engine.queue(), values);
  const auto look_at = [&](std::vector<tensor> tensors) {
    const inspector inspector(tensor_list(engine, std::move(tensors)), level);
    inspector.run();
    return inspector.result();
  };
  std::vector<tensor> cut;
  for (std::size_t at = 0, size = 1; at < values.size(); at += size, size = size * 7 % 9973)
    cut.push_back({memory.data() + at, std::min(size, values.size() - at)});

  const inspection whole = look_at({{memory.data(), values.size()}});
  const inspection again = look_at({{memory.data(), values.size()}});
  const inspection pieces = look_at(cut);
  std::reverse(cut.begin(), cut.end());
  const inspection reversed = look_at(cut);

  CHECK(std::memcmp(&whole, &again, sizeof whole) == 0);
  for (const inspection& inspection : {pieces, reversed}) {
    CHECK(inspection.elements == whole.elements);
    CHECK(inspection.flags == whole.flags);
    CHECK(inspection.inf_count == whole.inf_count);
    CHECK(inspection.zero_count == whole.zero_count);
    CHECK(inspection.subnormal_count == whole.subnormal_count);
    CHECK(inspection.amax_bits == whole.amax_bits);
    // Two sums of terms that are not negative: each is within (64 + 64 + 31 + 10 + 6) roundings of the exact one, and a
    // chunk holds up to 1024 pieces, each of which ends a block.
    const double sum = static_cast<double>(whole.sum_of_squares),
                 other = static_cast<double>(inspection.sum_of_squares);
    if (finite) CHECK(std::abs(sum - other) <= (2 * 175 + 1024) * 0x1p-24 * sum);
  }
  CHECK(std::isinf(whole.sum_of_squares) == !finite);
}

TEST_CASE("law 10: tensors of every size and alignment are read whole and nothing beside them") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  std::vector<tensor> tensors;
  const device_buffer<float> memory(engine.queue(), std::vector<float>(300 * 301 / 2 + 300, 1.0f));
  std::uint64_t place = 0, total = 0;
  for (std::uint64_t count = 0; count <= 300; ++count) {
    tensors.push_back({memory.data() + place, count});
    place += count + 1;
    total += count;
  }
  const inspector inspector(tensor_list(engine, tensors));

  inspector.run();

  CHECK(inspector.result().elements == total);
  CHECK(inspector.result().sum_of_squares == static_cast<float>(total));  // integers below 2^24 are exact
}

TEST_CASE("law 11: floating point is strict on this device") { CHECK(test_arithmetic(any_engine()).sound()); }
