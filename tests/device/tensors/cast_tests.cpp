// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/reference/random.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

TEMPLATE_TEST_CASE("cast rounds to nearest even between all types", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const tensors_of_all_sizes<TestType> in(engine, 3, 0);
  const tensors_of_all_sizes<float16> to16(engine, 4, 0);
  const tensors_of_all_sizes<bfloat16> to_bf16(engine, 5, 1);
  const tensors_of_all_sizes<float32> to32(engine, 6, 0);
  const tensors_of_all_sizes<float8_e4m3> to_e4m3(engine, 7, 0);
  const tensors_of_all_sizes<float8_e5m2> to_e5m2(engine, 8, 1);

  cast(in.list, to_e4m3.list);
  cast(in.list, to_e5m2.list);
  cast(in.list, to16.list);
  cast(in.list, to_bf16.list);
  cast(in.list, to32.list);
  engine.wait();

  check_converted(in, to16, 1.0);
  check_converted(in, to_bf16, 1.0);
  check_converted(in, to32, 1.0);
  check_converted(in, to_e4m3, 1.0);
  check_converted(in, to_e5m2, 1.0);
}

TEMPLATE_TEST_CASE("every number of 16 and 8 bits survives the way to FP32 and back", "", float16, bfloat16,
                   float8_e4m3, float8_e5m2) {
  using bits = typename TestType::bits;
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  std::vector<bits> all(std::size_t{1} << (8 * sizeof(bits)));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<bits>(i);
  const device_buffer<bits> in(engine.queue(), all), back(engine.queue(), std::vector<bits>(all.size()));
  const device_buffer<std::uint32_t> wide(engine.queue(), std::vector<std::uint32_t>(all.size()));
  const tensor_list middle(engine, array_view(wide.data(), all.size(), element_type::float32));

  cast(tensor_list(engine, array_view(in.data(), all.size(), TestType::type)), middle);
  cast(middle, tensor_list(engine, array_view(back.data(), all.size(), TestType::type)));
  engine.wait();

  const auto result = back.read();
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!same_number<TestType>(all[i], result[i])) ++wrong;
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("a saturating cast stops at the largest number, and counts", "", float16, bfloat16, float8_e4m3,
                   float8_e5m2) {
  using bits = typename TestType::bits;
  const engine& engine = any_engine();
  const bool saturate = GENERATE(true, false);
  CAPTURE(engine.profile_name(), saturate);
  const auto values = reference::numbers_near(TestType::format, 70'001, 12);
  const device_buffer<float> in(engine.queue(), values);
  const device_buffer<bits> out(engine.queue(), std::vector<bits>(values.size()));
  const device_buffer<std::uint64_t> count(engine.queue(), {12345});
  const tensor_list from(engine, array_view(in.data(), values.size()));
  const tensor_list to(engine, array_view(out.data(), values.size(), TestType::type));

  for (int i = 0; i < 2; ++i)  // each cast counts from 0
    cast(from, to, {.saturate = saturate, .saturated = count.data()});
  engine.wait();

  const auto result = out.read();
  std::uint64_t wrong = 0, beyond = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(values[i]);
    if (!same_number<TestType>(result[i], reference::encode(x, TestType::format, saturate))) ++wrong;
    if (reference::is_beyond(x, TestType::format)) ++beyond;
  }
  CHECK(wrong == 0);
  CHECK(beyond > 100);
  CHECK(count.read()[0] == beyond);
  CHECK(out.canaries_are_alive());
  CHECK(count.canaries_are_alive());
}

TEMPLATE_TEST_CASE("stochastic rounding is a function of seed, step, tensor and element", "", float16, bfloat16,
                   float8_e4m3, float8_e5m2) {
  using bits = typename TestType::bits;
  const engine& engine = any_engine();
  const bool saturate = GENERATE(true, false);
  CAPTURE(engine.profile_name(), saturate);
  const std::uint64_t seed = 0x123456789abcdef0, step = (std::uint64_t{1} << 33) + 7;
  const auto values = reference::numbers_near(TestType::format, 70'001, 13);
  const device_buffer<float> in(engine.queue(), values);
  const device_buffer<bits> out(engine.queue(), std::vector<bits>(values.size()), 1);
  const device_buffer<std::uint64_t> device_step(engine.queue(), {step});
  const auto cut = [&](auto* data, element_type type) {
    return tensor_list(engine, {{{data, type}, 100}, {{data + 100, type}, values.size() - 100}});
  };

  const device_buffer<std::uint64_t> count(engine.queue(), {7});
  cast(cut(in.data(), element_type::float32), cut(out.data(), TestType::type),
       {.rounding_mode = rounding::stochastic,
        .saturate = saturate,
        .saturated = count.data(),
        .seed = seed,
        .step = device_step.data()});
  engine.wait();

  const auto result = out.read();
  std::uint64_t wrong = 0, beyond = 0;
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    const auto word = reference::random_word(seed, step, i < 100 ? 0 : 1, i < 100 ? i : i - 100);
    const auto expected = reference::encode_at_random(values[i], TestType::format, word, saturate);
    if (!same_number<TestType>(result[i], expected)) ++wrong;
    const auto free =
        reference::decode(reference::encode_at_random(values[i], TestType::format, word), TestType::format);
    if (!std::isnan(values[i]) && !std::isfinite(free.value)) ++beyond;
  }
  CHECK(wrong == 0);
  CHECK(count.read()[0] == beyond);
  CHECK(out.canaries_are_alive());
}

TEMPLATE_TEST_CASE("a saturating cast takes every type, and FP32 can be saturated, too", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const tensors_of_all_sizes<TestType> in(engine, 14, 0);
  const tensors_of_all_sizes<float32> wide(engine, 15, 0);
  const tensors_of_all_sizes<float8_e4m3> narrow(engine, 16, 1);
  const device_buffer<std::uint64_t> counts(engine.queue(), {7, 7});

  cast(in.list, wide.list, {.saturate = true, .saturated = counts.data()});
  cast(in.list, narrow.list, {.saturate = true, .saturated = counts.data() + 1});
  engine.wait();

  const auto wide_bits = wide.memory.read();
  const auto narrow_bits = narrow.memory.read();
  std::uint64_t wrong = 0, beyond_wide = 0, beyond_narrow = 0;
  for (std::uint64_t i = 0; i < in.content.size(); ++i) {
    if (tensors_of_all_sizes<TestType>::in_gap(i)) continue;
    const double x = reference::decode(in.content[i], TestType::format).value;
    const double single = reference::rounded_to_float(x);  // what an FP64 is first of all
    if (!same_number<float32>(wide_bits[i], reference::encode(x, reference::binary32, true))) ++wrong;
    if (!same_number<float8_e4m3>(narrow_bits[i], reference::encode(single, reference::e4m3, true))) ++wrong;
    beyond_wide += reference::is_beyond(x, reference::binary32);
    beyond_narrow += reference::is_beyond(single, reference::e4m3);
  }
  CHECK(wrong == 0);
  CHECK(counts.read() == std::vector<std::uint64_t>{beyond_wide, beyond_narrow});
}

TEST_CASE("casting nothing saturates nothing") {
  const engine& engine = any_engine();
  const device_buffer<std::uint64_t> count(engine.queue(), {7});
  const tensor_list none(engine, std::vector<tensor>{});

  cast(none, none, {.saturated = count.data()}).wait();

  CHECK(count.read()[0] == 0);
}

TEST_CASE("stochastic rounding is right on average") {
  const engine& engine = all_engines().front();
  constexpr std::size_t count = 1'000'000;
  const float value = 1.0f + 0.3f * 0x1p-7f;  // three tenths of the way between two BF16 numbers
  const device_buffer<float> in(engine.queue(), std::vector<float>(count, value));
  const device_buffer<std::uint16_t> out(engine.queue(), std::vector<std::uint16_t>(count));

  cast(tensor_list(engine, array_view(in.data(), count)),
       tensor_list(engine, array_view(out.data(), count, element_type::bfloat16)),
       {.rounding_mode = rounding::stochastic, .seed = 1});
  engine.wait();

  const auto result = out.read();
  const auto up = static_cast<double>(std::count(result.begin(), result.end(), 0x3f81));
  CHECK(std::count(result.begin(), result.end(), 0x3f80) + static_cast<long>(up) == count);
  // A binomial count: five standard deviations, 5 · sqrt(n · 0.3 · 0.7). The seed is fixed, so this never flickers.
  CHECK(std::abs(up - 0.3 * count) < 5 * std::sqrt(count * 0.3 * 0.7));
}

TEST_CASE("a cast with scales multiplies each tensor by its own, and divides on the way back") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> in(engine.queue(), {1.0f, -2.0f, 0.5f, 3.0f}), back(engine.queue(), std::vector<float>(4));
  const device_buffer<std::uint8_t> out(engine.queue(), std::vector<std::uint8_t>(4));
  const device_buffer<float> scales(engine.queue(), {16.0f, 128.0f});
  const tensor_list from(engine, {{in.data(), 2}, {in.data() + 2, 2}}),
      again(engine, {{back.data(), 2}, {back.data() + 2, 2}});
  const tensor_list to(
      engine, {{{out.data(), element_type::float8_e4m3}, 2}, {{out.data() + 2, element_type::float8_e4m3}, 2}});

  cast(from, to, {.saturate = true, .scales = scales.data()});
  cast(to, again, {.scales = scales.data(), .divide = true});
  engine.wait();

  CHECK(out.read() == std::vector<std::uint8_t>{0x58, 0xe0, 0x68, 0x7c});  // 16, -32, 64, 384
  CHECK(back.read() == std::vector<float>{1.0f, -2.0f, 0.5f, 3.0f});
}
