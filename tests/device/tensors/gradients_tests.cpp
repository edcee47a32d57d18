// SPDX-License-Identifier: Apache-2.0
// D10 is a defect of another framework: docs/frameworks.md#d10.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

TEMPLATE_TEST_CASE("unscale divides by the scale, exactly, into FP32 (D10)", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  const float factor = GENERATE(1.0f, 65536.0f, 0x1p-14f, 0x1p126f, 0x1p127f);
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(engine.profile_name(), factor, offset);
  const tensors_of_all_sizes<TestType> in(engine, 1, offset);
  const tensors_of_all_sizes<float32> out(engine, 2, offset);
  const device_scalar scale_value(engine, factor);

  unscale(in.list, out.list, scale_value);
  engine.wait();

  check_converted(in, out, 1.0 / static_cast<double>(factor));
  CHECK(in.memory.read() == in.content);
}

TEMPLATE_TEST_CASE("scaling in place keeps the type, rounded to FP32 and then to the type", "", OUTPUT_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const float factor = GENERATE(8.0f, 1.1f);
  const tensors_of_all_sizes<TestType> data(engine, 7, 1);
  const device_scalar device_factor(engine, factor);

  scale(data.list, data.list, device_factor);
  engine.wait();

  check_converted(data, data, static_cast<double>(factor));
}

TEMPLATE_TEST_CASE("accumulate adds in FP32, each time with its own scale", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const tensors_of_all_sizes<TestType> in(engine, 8, 0);
  const device_buffer<float> sum(engine.queue(), std::vector<float>(70'001, 0.25f));
  const tensor_list last_in(engine, in.list[14]), last_out(engine, array_view(sum.data(), 70'001));
  const device_scalar first(engine, 4.0f), second(engine, 65536.0f);

  accumulate(last_in, last_out, first);
  accumulate(last_in, last_out, second);
  engine.wait();

  const auto result = sum.read();
  const std::uint64_t start = in.content.size() - 70'001 - 3;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto rounded = reference::rounded_to_float;
    const double x = rounded(reference::decode(in.content[start + i], TestType::format).value);
    const double once = rounded(0.25 + rounded(x / 4.0)), twice = rounded(once + rounded(x / 65536.0));
    if (!same_number<float32>(std::bit_cast<std::uint32_t>(result[i]), reference::encode(twice, reference::binary32)))
      ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(sum.canaries_are_alive());
}

TEST_CASE("a bad micro-batch is dropped as a whole, and cleared only if it is bad") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  std::vector<float> values(70'000, 2.0f);
  const device_buffer<float> good(engine.queue(), values), sum(engine.queue(), std::vector<float>(70'000, 1.0f));
  values[69'999] = std::numeric_limits<float>::infinity();
  const device_buffer<float> bad(engine.queue(), values);
  const tensor_list good_list(engine, array_view(good.data(), 70'000)),
      bad_list(engine, array_view(bad.data(), 70'000)), sum_list(engine, array_view(sum.data(), 70'000));
  const inspector look_good(good_list), look_bad(bad_list);
  const device_scalar s(engine, 2.0f);

  look_good.run();
  accumulate(good_list, sum_list, s, look_good.device_result());
  look_bad.run();
  accumulate(bad_list, sum_list, s, look_bad.device_result());
  clear_gradients(bad_list, look_bad.device_result());
  clear_gradients(good_list, look_good.device_result());
  engine.wait();

  CHECK(sum.read() == std::vector<float>(70'000, 2.0f));
  CHECK(bad.read() == std::vector<float>(70'000, 0.0f));
  CHECK(good.read() == std::vector<float>(70'000, 2.0f));
}

TEMPLATE_TEST_CASE("clear writes zeros into the tensors and nowhere else", "", ALL_FORMATS) {
  const engine& engine = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(engine.profile_name(), offset);
  const tensors_of_all_sizes<TestType> data(engine, 9, offset);

  clear_gradients(data.list);
  engine.wait();

  const auto result = data.memory.read();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < result.size(); ++i)
    if (result[i] != (tensors_of_all_sizes<TestType>::in_gap(i) ? data.content[i] : 0)) ++wrong;
  CHECK(wrong == 0);
  CHECK(data.memory.canaries_are_alive());
}

TEST_CASE("clipping brings the norm of the unscaled gradients down to the limit, and leaves small ones alone") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const std::vector<float> scaled = {3.0f * 1024, -4.0f * 1024, 0.0f};  // norm 5 after unscaling
  const device_buffer<float> memory(engine.queue(), scaled), unscaled(engine.queue(), std::vector<float>(3));
  const device_buffer<clip_result> result(engine.queue(), std::vector<clip_result>(1));
  const tensor_list in(engine, array_view(memory.data(), 3)), out(engine, array_view(unscaled.data(), 3));
  const inspector inspector(in);
  const device_scalar s(engine, 1024.0f), limit(engine, 2.5f), far(engine, 100.0f);

  inspector.run(s);
  const unscaled_gradients gradients = unscale(in, out, s);
  clip_coefficient(engine, inspector.device_result(), far, result.data());
  clip(gradients, result.data());
  engine.wait();
  CHECK(result.read()[0].norm == 5.0f);
  CHECK(result.read()[0].coefficient == 1.0f);
  CHECK(unscaled.read() == std::vector<float>{3.0f, -4.0f, 0.0f});

  clip_coefficient(engine, inspector.device_result(), limit, result.data());
  clip(gradients, result.data());
  engine.wait();
  const float coefficient = 2.5f / (5.0f + 1e-6f);
  CHECK(result.read()[0].coefficient == coefficient);
  CHECK(unscaled.read() == std::vector<float>{3.0f * coefficient, -4.0f * coefficient, 0.0f});
  CHECK(result.canaries_are_alive());
}

TEST_CASE("each group is clipped by its own norm, of any kind") {
  const engine& engine = any_engine();
  const norm_kind kind = GENERATE(norm_kind::l2, norm_kind::l1, norm_kind::l_infinity);
  CAPTURE(engine.profile_name(), static_cast<int>(kind));
  // Group 0 has the tensors 0 and 2, group 1 none, group 2 the tensor 1, which is small.
  const device_buffer<float> memory(engine.queue(), {6.0f, -8.0f, 0.5f, 0.0f, 24.0f, 0.0f});
  const device_buffer<clip_result> results(engine.queue(), std::vector<clip_result>(3));
  const tensor_list list(engine,
                         {{memory.data(), 2, "a", 0}, {memory.data() + 2, 1, "b", 2}, {memory.data() + 3, 3, "c", 0}});
  const inspector inspector(list, inspection_level::tensors);
  const device_scalar s(engine, 2.0f), limit(engine, 1.0f);

  inspector.run(s);
  const auto gradients = unscale(list, list, s);
  clip_coefficients(engine, inspector.device_groups(), list.groups(), limit, results.data(), kind);
  clip_by_group(gradients, results.data());
  engine.wait();

  const float norm = kind == norm_kind::l2 ? 13.0f : kind == norm_kind::l1 ? 19.0f : 12.0f;
  const float factor = 1.0f / (norm + 1e-6f);
  const auto got = results.read();
  CHECK(got[0].norm == norm);
  CHECK(got[0].coefficient == factor);
  CHECK(got[1].norm == 0.0f);
  CHECK(got[1].coefficient == 1.0f);
  CHECK(got[2].norm == 0.25f);
  CHECK(got[2].coefficient == 1.0f);
  CHECK(memory.read() ==
        std::vector<float>{3.0f * factor, -4.0f * factor, 0.25f, 0.0f * factor, 12.0f * factor, 0.0f * factor});
  CHECK(results.canaries_are_alive());
}

TEST_CASE("an L1 norm that nobody has measured is a NaN, and clips nothing") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> memory(engine.queue(), {3.0f, 4.0f});
  const device_buffer<clip_result> result(engine.queue(), std::vector<clip_result>(1));
  const inspector inspector(tensor_list(engine, array_view(memory.data(), 2)));
  const device_scalar limit(engine, 1.0f);

  inspector.run();
  clip_coefficient(engine, inspector.device_result(), limit, result.data(), norm_kind::l1);
  engine.wait();

  CHECK(std::isnan(result.read()[0].norm));
  CHECK(result.read()[0].coefficient == 1.0f);
  CHECK(std::isnan(inspector.result().norm(norm_kind::l1)));
}

TEST_CASE("clipping by value bounds every element and hides no NaN") {
  const engine& engine = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(engine.profile_name(), offset);
  const tensors_of_all_sizes<float32> data(engine, 10, offset);
  const device_scalar limit(engine, 2.5f);

  clip_by_value(unscaled_gradients::never_scaled(data.list), limit);
  engine.wait();

  const auto result = data.memory.read();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < result.size(); ++i) {
    const double x = reference::decode(data.content[i], reference::binary32).value;
    const bool stays = tensors_of_all_sizes<float32>::in_gap(i) || std::isnan(x);
    const std::uint64_t expected =
        stays ? data.content[i] : reference::encode(std::clamp(x, -2.5, 2.5), reference::binary32);
    if (!same_number<float32>(result[i], expected)) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(data.memory.canaries_are_alive());
}

TEST_CASE("absent and empty tensors are left out on either side") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> a(engine.queue(), {1.0f, 2.0f}), b(engine.queue(), {7.0f, 8.0f});
  float* const absent = nullptr;

  cast(tensor_list(engine, std::vector<tensor>{}), tensor_list(engine, std::vector<tensor>{}));
  cast(tensor_list(engine, {{absent, 2}, {a.data(), 2}}), tensor_list(engine, {{b.data(), 2}, {absent, 2}}));
  engine.wait();
  CHECK(b.read() == std::vector<float>{7.0f, 8.0f});
}

TEST_CASE("lists that do not fit are refused with the tensor's name and the remedy") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), std::vector<float>(100));
  const auto fp32 = [&](std::uint64_t at, std::uint64_t count) {
    return tensor_list(engine, {{memory.data() + at, count, "weight"}});
  };
  const auto fp16 = [&](std::uint64_t count) {
    return tensor_list(engine, {{{memory.data() + 50, element_type::float16}, count, "bias"}});
  };
  const device_scalar s(engine, 2.0f);

  CHECK_THROWS_MATCHES(unscale(fp32(0, 10), fp16(10), s), invalid_argument,
                       MessageMatches(ContainsSubstring("bias") && ContainsSubstring("FP32 shadow")));
  CHECK_THROWS_MATCHES(cast(fp32(0, 10), fp32(20, 11)), invalid_argument, MessageMatches(ContainsSubstring("11")));
  CHECK_THROWS_MATCHES(cast(fp32(0, 10), tensor_list(engine, std::vector<tensor>{})), invalid_argument,
                       MessageMatches(ContainsSubstring("tensors")));
  CHECK_THROWS_MATCHES(cast(fp32(0, 10), fp32(5, 10)), invalid_argument, MessageMatches(ContainsSubstring("overlaps")));
  CHECK_THROWS_MATCHES(cast(fp32(48, 10), fp16(10)), invalid_argument, MessageMatches(ContainsSubstring("overlaps")));
  const tensor_list twice(engine, {{memory.data(), 10, "first"}, {memory.data() + 9, 10, "second"}});
  CHECK_THROWS_MATCHES(scale(twice, twice, s), invalid_argument,
                       MessageMatches(ContainsSubstring("\"second\") overlaps the output tensor 0 (\"first\")")));
  const tensor_list apart(engine, {{memory.data() + 30, 10, "first"}, {memory.data() + 5, 10, "second"}});
  CHECK_THROWS_MATCHES(cast(twice, apart), invalid_argument, MessageMatches(ContainsSubstring("overlaps the input")));
  CHECK_NOTHROW(clear_gradients(twice));
  const tensor_list wide(engine, {{{memory.data() + 60, element_type::float64}, 10, "wide"}});
  CHECK_THROWS_MATCHES(unscale(fp32(0, 10), fp32(20, 10), 0.0f), invalid_argument,
                       MessageMatches(ContainsSubstring("scale is 0; it must be positive")));
  CHECK_THROWS_MATCHES(device_value(engine, nullptr), invalid_argument,
                       MessageMatches(ContainsSubstring("its address is null")));
  CHECK_THROWS_AS(accumulate(fp32(0, 10), fp32(20, 10), std::numeric_limits<float>::infinity()), invalid_argument);
  CHECK_THROWS_AS(clip_coefficient(engine, nullptr, s, nullptr), invalid_argument);
  CHECK_THROWS_AS(clip(unscaled_gradients::never_scaled(fp32(0, 10)), nullptr), invalid_argument);
  CHECK_THROWS_AS(clip_by_value(unscaled_gradients::never_scaled(fp32(0, 10)), -1.0f), invalid_argument);
  CHECK_THROWS_AS(inspector(fp32(0, 10)).unscale(fp32(20, 10), -2.0f), invalid_argument);
  CHECK_THROWS_MATCHES(cast(fp32(0, 10), fp32(20, 10), {.scales = s, .divide = true}), invalid_argument,
                       MessageMatches(ContainsSubstring("unscale")));
  CHECK_THROWS_MATCHES(cast(fp32(0, 10), wide), invalid_argument, MessageMatches(ContainsSubstring("does not write")));
  CHECK_THROWS_MATCHES(unscaled_gradients::never_scaled(fp16(10)), invalid_argument,
                       MessageMatches(ContainsSubstring("cast")));
  CHECK_THROWS_MATCHES(accumulate(fp32(0, 10), fp16(10), s), invalid_argument,
                       MessageMatches(ContainsSubstring("float32")));
  engine.wait();
}

TEST_CASE("lists that fit are checked again when an address changes") {
  const engine& engine = all_engines().front();
  const device_buffer<float> memory(engine.queue(), std::vector<float>(100, 1.0f));
  tensor_list in(engine, {{memory.data(), 10, "weight"}}), out(engine, {{memory.data() + 50, 10, "copy"}});

  cast(in, out);
  cast(in, out);
  out.set_address(0, memory.data() + 5);
  CHECK_THROWS_AS(cast(in, out), invalid_argument);
  in.set_address(0, memory.data() + 70);
  CHECK_NOTHROW(cast(in, out));
  in.set_address(0, memory.data() + 14);
  CHECK_THROWS_AS(cast(in, out), invalid_argument);
  engine.wait();
}
