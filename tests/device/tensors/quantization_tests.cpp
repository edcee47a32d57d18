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
#include "tests/reference/quantization.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("delayed scaling follows the rule for every tensor, in one kernel") {
  const engine& engine = any_engine();
  const bool latest_only = GENERATE(true, false);
  const int margin = GENERATE(0, 3, -2, 126, -100);
  CAPTURE(engine.profile_name(), latest_only, margin);
  constexpr std::size_t tensors = 300, length = 4;
  const device_buffer<float> memory(engine.queue(), std::vector<float>(tensors));
  const device_buffer<std::uint8_t> small(engine.queue(), std::vector<std::uint8_t>(tensors));
  std::vector<tensor> wide, narrow;
  std::vector<reference::delayed_scale> models;
  for (std::size_t i = 0; i < tensors; ++i) {
    const auto type = i % 2 == 0 ? element_type::float8_e4m3 : element_type::float8_e5m2;
    wide.push_back({memory.data() + i, 1});
    narrow.push_back({{small.data() + i, type}, 1});
    models.push_back(
        {.limit = i % 2 == 0 ? 448.0 : 57344.0, .length = length, .margin = margin, .latest_only = latest_only});
  }
  const tensor_list list(engine, wide), quantized(engine, narrow);
  const inspector inspector(list, inspection_level::tensors);
  const delayed_scaling scaling(quantized, {.history = length, .margin = margin, .latest_only = latest_only});
  CHECK(scaling.scales() == std::vector<float>(tensors, 1.0f));
  CHECK(scaling.limit(0) == 448.0f);

  std::mt19937 random(31);
  for (int step = 0; step < 12; ++step) {
    std::vector<float> values(tensors);
    for (auto& entry : values) {
      const auto draw = random() % 12;
      entry = draw == 0   ? infinity
              : draw == 1 ? not_a_number
              : draw == 2 ? 0.0f
              : draw == 3 ? 1e-45f
              : draw == 4 ? -3e38f
                          : std::ldexp(1.0f + static_cast<float>(random() % 100) / 100.0f,
                                       static_cast<int>(random() % 40) - 20);
    }
    engine.queue().memcpy(memory.data(), values.data(), tensors * sizeof(float)).wait();
    inspector.run();
    const auto before = engine.statistics().kernels_submitted;
    scaling.update(inspector);
    CHECK(engine.statistics().kernels_submitted - before == 1);
    const auto got = scaling.scales();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < tensors; ++i) {
      models[i].update(std::abs(static_cast<double>(values[i])));
      if (static_cast<double>(got[i]) != models[i].scale) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("an FP8 tensor with its scale comes back within its precision, and its largest value fits") {
  const engine& engine = any_engine();
  const auto type = GENERATE(element_type::float8_e4m3, element_type::float8_e5m2);
  CAPTURE(engine.profile_name(), to_string(type));
  constexpr std::size_t count = 70'000;
  std::mt19937 random(32);
  std::vector<float> values(count);
  for (auto& entry : values) entry = static_cast<float>(random() % 2001) * 1e-6f - 1e-3f;
  const device_buffer<float> memory(engine.queue(), values), back(engine.queue(), std::vector<float>(count));
  const device_buffer<std::uint8_t> small(engine.queue(), std::vector<std::uint8_t>(count));
  const device_buffer<std::uint64_t> saturated(engine.queue(), {7});
  const tensor_list list(engine, array_view(memory.data(), count)),
      quantized(engine, array_view(small.data(), count, type)), again(engine, array_view(back.data(), count));
  const inspector inspector(list, inspection_level::tensors);
  const delayed_scaling scaling(quantized);

  inspector.run();
  scaling.update(inspector);
  cast_options options = scaling.quantize();
  options.saturated = saturated.data();
  cast(list, quantized, options);
  cast(quantized, again, scaling.dequantize());
  engine.wait();

  // Half a unit in the last place of a significand of 1 + 3 or 1 + 2 bits, and three roundings to FP32; next to zero
  // half of the smallest subnormal, 2^-10 or 2^-17, divided by the scale.
  const double relative = (type == element_type::float8_e4m3 ? 0x1p-4 : 0x1p-3) + 3 * 0x1p-24;
  const double absolute =
      (type == element_type::float8_e4m3 ? 0x1p-10 : 0x1p-17) / static_cast<double>(scaling.scales()[0]);
  const auto result = back.read();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(values[i]), error = std::abs(static_cast<double>(result[i]) - x);
    if (error > std::max(relative * std::abs(x), absolute * (1 + 0x1p-20))) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(saturated.read()[0] == 0);
}

namespace {

/// Scales that are different for each tensor: limit / amax with amax = 127 · 4^-i.
struct different_scales {
  different_scales(const engine& engine, const tensor_list& list, float limit)
      : amax(engine.queue(), values(list.size())),
        tensors(engine, describe(list.size())),
        inspector(tensors, inspection_level::tensors),
        scaling(list, limit, {.latest_only = true}) {
    inspector.run();
    scaling.update(inspector);
  }
  static std::vector<float> values(std::size_t count) {
    std::vector<float> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(std::ldexp(127.0f, -2 * static_cast<int>(i % 8)));
    return all;
  }
  std::vector<tensor> describe(std::size_t count) const {
    std::vector<tensor> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back({amax.data() + i, 1});
    return all;
  }

  device_buffer<float> amax;
  tensor_list tensors;
  syclamp::inspector inspector;
  delayed_scaling scaling;
};

}  // namespace

TEMPLATE_TEST_CASE("fake quantisation and its gradient, for INT8 and INT4, of every tensor", "", float16, bfloat16,
                   float32) {
  const engine& engine = any_engine();
  const float limit = GENERATE(127.0f, 7.0f);
  CAPTURE(engine.profile_name(), limit);
  const tensors_of_all_sizes<TestType> in(engine, 33, 0), out(engine, 34, 0);
  const tensors_of_all_sizes<float16> gradient(engine, 35, 1), back(engine, 36, 0);
  const different_scales scales(engine, in.list, limit);

  fake_quantize(in.list, out.list, scales.scaling);
  fake_quantize_gradient(in.list, gradient.list, back.list, scales.scaling);
  engine.wait();

  const auto result = out.memory.read();
  const auto result_back = back.memory.read();
  const auto factors = scales.scaling.scales();
  std::uint64_t wrong = 0, wrong_gradient = 0, place = 0;
  for (std::size_t tensor = 0; tensor < std::size(sizes); ++tensor) {
    const double scale = static_cast<double>(factors[tensor]), bound = static_cast<double>(limit);
    for (std::uint64_t i = place; i < place + sizes[tensor]; ++i) {
      const double x = reference::decode(in.content[i], TestType::format).value;
      const double expected = reference::fake_quantized(x, scale, bound);
      if (!same_number<TestType>(result[i], reference::encode(expected, TestType::format))) ++wrong;
      const bool passes = reference::is_in_range(x, scale, bound);
      if (!same_number<float16>(result_back[i], passes ? gradient.content[i] : 0)) ++wrong_gradient;
    }
    place += sizes[tensor] + 3;
  }
  CHECK(wrong == 0);
  CHECK(wrong_gradient == 0);
  CHECK(out.memory.canaries_are_alive());
  CHECK(back.memory.canaries_are_alive());
}

TEST_CASE("the gradient goes straight through where the number was in the range, scaled as it was") {
  const engine& engine = any_engine();
  const bool in_place = GENERATE(true, false);
  CAPTURE(engine.profile_name(), in_place);
  // With the scale 1: in range up to 127, and up to 127.499 by rounding; 127.5 is rounded to 128.
  const device_buffer<float> x(engine.queue(), {0.0f, 127.0f, -127.49f, 127.5f, -1e30f, infinity, not_a_number});
  const std::vector<std::uint16_t> scaled(7, 0x7bff);  // 65504: a gradient of a scaled loss
  const device_buffer<std::uint16_t> gradient(engine.queue(), scaled),
      other(engine.queue(), std::vector<std::uint16_t>(7, 1));
  const auto& out = in_place ? gradient : other;
  const tensor_list list(engine, array_view(x.data(), 7)),
      from(engine, array_view(gradient.data(), 7, element_type::float16)),
      to(engine, array_view(out.data(), 7, element_type::float16));
  const delayed_scaling scaling(list, delayed_scaling::int8_limit, {});

  fake_quantize_gradient(list, from, to, scaling);
  engine.wait();

  CHECK(out.read() == std::vector<std::uint16_t>{0x7bff, 0x7bff, 0x7bff, 0, 0, 0, 0});
  CHECK(out.canaries_are_alive());
}

TEST_CASE("tensors that are absent are not quantised, and nothing is written over what is read") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> a(engine.queue(), {0.6f, 1.4f}), b(engine.queue(), {9.0f, 9.0f}),
      c(engine.queue(), {5.0f, 5.0f});
  float* const absent = nullptr;
  const auto two = [&](float* first, float* second) { return tensor_list(engine, {{first, 1}, {second, 1}}); };
  const delayed_scaling scaling(two(absent, absent), delayed_scaling::int8_limit, {});

  fake_quantize(two(absent, a.data() + 1), two(b.data(), b.data() + 1), scaling);
  fake_quantize(two(a.data(), absent), two(absent, b.data()), scaling);
  fake_quantize_gradient(two(a.data(), a.data() + 1), two(absent, c.data()), two(b.data(), absent), scaling);
  engine.wait();

  CHECK(b.read() == std::vector<float>{9.0f, 1.0f});
  CHECK_THROWS_AS(fake_quantize_gradient(two(a.data(), a.data() + 1), two(c.data(), c.data() + 1),
                                         two(a.data() + 1, a.data()), scaling),
                  invalid_argument);
  CHECK_THROWS_AS(fake_quantize(tensor_list(engine, array_view(a.data(), 1)),
                                tensor_list(engine, array_view(b.data(), 1)), scaling),
                  invalid_argument);
}

TEST_CASE("channels of a weight have scales of their own") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> weight(engine.queue(), {1.0f, -127.0f, 0.3f, 0.001f, 0.002f, -0.127f}),
      out(engine.queue(), std::vector<float>(6));
  const auto channels_in = [&](float* data) {
    return tensor_list(engine, {{data, 3, "weight[0]"}, {data + 3, 3, "weight[1]"}});
  };
  const tensor_list channels = channels_in(weight.data()), quantized = channels_in(out.data());
  const inspector inspector(channels, inspection_level::tensors);
  const delayed_scaling scaling(channels, delayed_scaling::int8_limit, {.latest_only = true});

  inspector.run();
  scaling.update(inspector);
  fake_quantize(channels, quantized, scaling);
  engine.wait();

  CHECK(scaling.scales() == std::vector<float>{1.0f, 127.0f / 0.127f});
  CHECK(out.read()[2] == 0.0f);  // with a common scale this would be the fate of the whole second channel
  CHECK(out.read()[1] == -127.0f);
  CHECK(out.read()[4] == 2.0f / (127.0f / 0.127f));
}

TEST_CASE("settings that make no sense are refused") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), {1.0f, 2.0f});
  const tensor_list first(engine, array_view(memory.data(), 1)),
      two(engine, {{memory.data(), 1}, {memory.data() + 1, 1}});
  const delayed_scaling scaling(first, 127.0f, {});

  CHECK_THROWS_AS(delayed_scaling(first), invalid_argument);  // FP32 needs no scale
  const delayed_scaling::settings nothing{.history = 0}, too_far{.margin = 1000};
  CHECK_THROWS_AS(delayed_scaling(first, 1.0f, nothing), invalid_argument);
  CHECK_THROWS_AS(delayed_scaling(first, 1.0f, too_far), invalid_argument);
  CHECK_THROWS_AS(delayed_scaling(first, 0.0f, delayed_scaling::settings{}), invalid_argument);
  CHECK_THROWS_AS(delayed_scaling(first, not_a_number, delayed_scaling::settings{}), invalid_argument);
  CHECK_THROWS_AS(scaling.update(inspector(first)), invalid_argument);
  CHECK_THROWS_AS(scaling.update(inspector(two, inspection_level::tensors)), invalid_argument);
}
