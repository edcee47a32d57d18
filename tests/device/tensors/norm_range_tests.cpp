// SPDX-License-Identifier: Apache-2.0
// Norms of gradients whose squares overflow or underflow in FP32 while the gradients are scaled.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/reference/inspect.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/gradient_parts.hpp"
#include "tests/support/scaled_training.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

namespace {

/// A sum enters at most 64 + 64 + 31 + 10 + 6 roundings (inspect_tests.cpp), 4 more when units are changed; a root
/// halves them, and a root, a quotient and two factors follow. Unscaling in place rounds each element twice.
constexpr double norm_tolerance = ((64 + 64 + 31 + 10 + 6 + 4) / 2.0 + 4 + 2) * 0x1p-24;

void check_close(double got, double truth, double tolerance = norm_tolerance) {
  CAPTURE(got, truth);
  CHECK(std::abs(got - truth) <= tolerance * truth);
}

template <typename Bits>
Bits encoded(float x) {
  const auto word = std::bit_cast<std::uint32_t>(x);
  if constexpr (sizeof(Bits) == 2) {
    return static_cast<Bits>(word >> 16);  // BF16: ten bits of the fraction become seven, which the oracle decodes
  } else if constexpr (sizeof(Bits) == 4) {
    return word;
  } else {
    return std::bit_cast<std::uint64_t>(static_cast<double>(x));
  }
}

struct exact_norms {
  double l1 = 0, l2 = 0, largest = 0;
};

template <typename Format>
exact_norms norms_of(const std::vector<typename Format::bits>& data) {
  const auto found = reference::inspect(data.size(), Format::format, [&](std::uint64_t i) { return data[i]; });
  return {found.abs_sum, std::sqrt(found.sum_of_squares), found.amax};
}

/// Scaled gradients near 2^scaled, at a scale of 2^scale.
struct range_case {
  int scale, scaled;
};
constexpr range_case range_cases[] = {
    {127, 127}, {127, 100}, {127, 64},    {127, 0},    {100, 120}, {72, 64},  {64, 63},    {64, 57},     {64, 50},
    {30, 100},  {0, 120},   {0, 64},      {0, 0},      {0, -50},   {0, -60},  {0, -100},   {0, -126},    {-24, -74},
    {-63, -60}, {-72, -72}, {-100, -100}, {-100, -20}, {-126, 0},  {-126, 1}, {-126, -90}, {-126, -126}, {1, -149 + 8},
};

}  // namespace

TEST_CASE("presets without a ceiling keep clipping, however large their scales get") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar max_norm(engine, 5.0f);
  for (const char* name : {"pytorch", "megatron", "keras3", "deepspeed", "paddle", "jmp"}) {
    CAPTURE(name);
    scaling_policy policy = scaling_preset(name);
    policy.growth_interval = 2;
    training code(engine, policy);
    std::uint64_t applied = 0, overflows = 0;
    for (int i = 0; i < 400; ++i) {
      const step_record record = code.step(1.0f, 0.0f, {.max_norm = max_norm});  // norm 10
      overflows += record.outcome == step_outcome::skipped_inf ? 1 : 0;
      if (!record.was_applied()) continue;
      ++applied;
      REQUIRE(record.norm == 10.0f);
      REQUIRE(record.clip == 5.0f / (10.0f + 1e-6f));
    }
    // What is not applied is a gradient of 1 · S that is Inf, as with the framework itself. PyTorch keeps its scale
    // finite.
    CHECK(applied + overflows == 400);
    CHECK(applied >=
          (policy.replay.bounds == bounds_kind::keep ? 400 : 266));  // else one overflow for two clean steps at most
  }
}

TEMPLATE_TEST_CASE("norm and clip coefficient are right at every scale", "", bfloat16, float32, float64) {
  using bits = typename TestType::bits;
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar max_norm(engine, 1.0f);
  for (const std::size_t count : {std::size_t{1}, std::size_t{67}, std::size_t{65'536}, std::size_t{140'001}})
    for (const auto [scale, scaled] : range_cases) {
      CAPTURE(count, scale, scaled);
      std::vector<bits> data;
      for (const float x : values_near(scaled, count, 11)) data.push_back(encoded<bits>(x));
      const exact_norms truth = norms_of<TestType>(data);
      const double norm = std::ldexp(truth.l2, -scale);
      const bool is_finite = norm <= static_cast<double>(std::numeric_limits<float>::max());
      const bool is_normal = norm >= 0x1p-126;
      const device_buffer<bits> memory(engine.queue(), data, count % 2);
      const tensor_list list(engine, {{{memory.data(), TestType::type}, count}});
      loss_scaler scaler(
          engine,
          {.mode = scaling_mode::fixed, .init_scale = std::ldexp(1.0f, scale), .min = 0x1p-126f, .max = 0x1p127f});
      scaler.begin_step();
      scaler.inspect(list, {.max_norm = max_norm});
      scaler.update();
      const step_record record = scaler.outcome();
      if (std::ldexp(truth.largest, -scale) > static_cast<double>(std::numeric_limits<float>::max())) {
        CHECK(record.outcome == step_outcome::skipped_inf);
      } else if (!is_finite) {
        CHECK(record.outcome == step_outcome::norm_overflow);
      } else {
        CHECK(record.was_applied());
        // Below the smallest normal number results are multiples of 2^-149.
        if (is_normal) check_close(record.norm, norm);
        if (!is_normal) CHECK(std::abs(static_cast<double>(record.norm) - norm) <= 0x1p-149 + norm_tolerance * norm);
        const double clip = std::min(1.0, 1.0 / (norm + 1e-6));
        CHECK(std::abs(static_cast<double>(record.clip) - clip) <= 2 * norm_tolerance * clip + 0x1p-149);
      }
    }
}

TEMPLATE_TEST_CASE("all norms of tensors and groups are right outside the range of squares", "", bfloat16, float32) {
  using bits = typename TestType::bits;
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar limit(engine, 1.0f);
  for (const int exponent : {-120, -60, -50, 0, 57, 64, 110, 120, 126}) {
    CAPTURE(exponent);
    std::vector<bits> small, large;
    for (const float x : values_near(exponent - 3, 5'001, 3)) small.push_back(encoded<bits>(x));
    for (const float x : values_near(exponent, 70'001, 4)) large.push_back(encoded<bits>(x));
    const device_buffer<bits> a(engine.queue(), small, 1), b(engine.queue(), large);
    const tensor_list list(
        engine, {{{a.data(), TestType::type}, small.size(), "", 0}, {{b.data(), TestType::type}, large.size(), "", 1}});
    const device_scalar scale(engine, std::ldexp(1.0f, exponent > 0 ? 60 : -60));
    const inspector inspector(list, inspection_level::tensors);
    inspector.run(scale);
    std::vector<bits> both = small;
    both.insert(both.end(), large.begin(), large.end());
    const auto tensors = inspector.tensors(), groups = inspector.groups();
    const auto check = [&](const inspection& result, const std::vector<bits>& data) {
      const exact_norms truth = norms_of<TestType>(data);
      check_close(result.norm(norm_kind::l2), truth.l2);
      check_close(result.norm(norm_kind::l1), truth.l1, 2 * norm_tolerance);
      const device_buffer<inspection> results(engine.queue(), {result});
      for (const norm_kind kind : {norm_kind::l2, norm_kind::l1, norm_kind::l_infinity}) {
        const double expected = (kind == norm_kind::l2   ? truth.l2
                                 : kind == norm_kind::l1 ? truth.l1
                                                         : truth.largest) /
                                static_cast<double>(result.scale);
        const device_buffer<clip_result> result(engine.queue(), std::vector<clip_result>(1));
        clip_coefficient(engine, results.data(), limit, result.data(), kind);
        check_close(result.read()[0].norm, expected, 2 * norm_tolerance);
        check_close(result.read()[0].coefficient, std::min(1.0, 1.0 / (expected + 1e-6)), 2 * norm_tolerance);
      }
    };
    const inspection all = inspector.result();
    check(tensors[0], small);
    check(tensors[1], large);
    check(groups[0], small);
    check(groups[1], large);
    check(all, both);
  }
}

TEST_CASE("unscaling in place does not lose a norm beyond the range of squares") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar max_norm(engine, 1.0f);
  for (const float scale : {0x1p127f, 0x1p70f, 3.0f * 0x1p70f, 1.0f, 0x1p-70f, 3.0f * 0x1p-72f, 0x1p-126f}) {
    CAPTURE(scale);
    // One FP32 tensor in place, one in BF16 with a shadow; both in one chunk.
    const int exponent = std::ilogb(scale);
    std::vector<float> in_place = values_near(exponent == 127 ? 126 : exponent, 1'001, 5);
    if (exponent == -126)
      for (float& x : in_place) x = std::ldexp(x, 60);
    std::vector<std::uint16_t> half;
    for (const float x : values_near(exponent == 127 ? 125 : exponent, 333, 6))
      half.push_back(encoded<std::uint16_t>(exponent == -126 ? std::ldexp(x, 59) : x));
    const double a = norms_of<float32>(std::vector<std::uint32_t>([&] {
                       std::vector<std::uint32_t> raw;
                       for (const float x : in_place) raw.push_back(std::bit_cast<std::uint32_t>(x));
                       return raw;
                     }()))
                         .l2,
                 b = norms_of<bfloat16>(half).l2;
    const double truth = std::hypot(a, b) / static_cast<double>(scale);
    const device_buffer<float> gradients(engine.queue(), in_place),
        shadow(engine.queue(), std::vector<float>(half.size()));
    const device_buffer<std::uint16_t> gradients16(engine.queue(), half);
    const tensor_list in(
        engine, {{gradients.data(), in_place.size()}, {{gradients16.data(), element_type::bfloat16}, half.size()}});
    const tensor_list out(engine, {{gradients.data(), in_place.size()}, {shadow.data(), half.size()}});
    scaling_policy policy{.mode = scaling_mode::fixed, .init_scale = scale, .min = 0x1p-126f, .max = 0x1p127f};
    policy.power_of_two = false;
    loss_scaler scaler(engine, policy);
    scaler.begin_step();
    scaler.unscale(in, out, {.max_norm = max_norm});
    scaler.update();
    check_close(scaler.outcome().norm, truth);
    check_close(scaler.outcome().clip, std::min(1.0, 1.0 / (truth + 1e-6)), 2 * norm_tolerance);
  }
}

TEST_CASE("one small element among zeros has its norm, and so has one among large ones") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  for (const float x : {0x1p-149f, 0x1p-100f, 0x1p-75f, 0x1p-50f, 0x1p49f, 0x1p63f, 0x1p127f}) {
    CAPTURE(x);
    std::vector<float> values(200'000, 0.0f);
    values[131'073] = -x;
    const device_buffer<float> memory(engine.queue(), values);
    CHECK(inspect(engine, {memory.data(), values.size()}).norm() == static_cast<double>(x));
    values[3] = 0x1p100f;  // in another chunk
    const device_buffer<float> other(engine.queue(), values);
    check_close(inspect(engine, {other.data(), values.size()}).norm(), std::hypot(0x1p100, static_cast<double>(x)));
  }
}

TEST_CASE("small elements count beside large ones, also in units of their own") {
  // Each small square is less than half a unit in the last place of its sum, so that a plain sum would lose all of
  // them: 95 units in the whole sum, half of that in the norm. What is left are 10 roundings of the tree, 6 of chunks,
  // 4 of units.
  constexpr std::size_t large_count = 512, count = 65'536;
  constexpr double tolerance = ((10 + 6 + 4) / 2.0 + 2) * 0x1p-24;
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  for (const int exponent : {70, -80}) {
    CAPTURE(exponent);
    const float large = std::ldexp(1.0f, exponent), small = large * 0x1.cp-13f;
    std::vector<float> values(count, small);
    std::fill_n(values.begin(), large_count, large);
    const device_buffer<float> memory(engine.queue(), values);
    const double squares = large_count + (count - large_count) * 0x1.cp-13 * 0x1.cp-13;
    check_close(inspect(engine, {memory.data(), count}).norm(), std::sqrt(squares) * static_cast<double>(large),
                tolerance);
  }
}

TEST_CASE("sums of many chunks leave and enter the range of FP32 without a step") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  constexpr std::size_t chunks = 40, count = chunks * 65'536;
  for (const int exponent : {-62, -60, -58, -57, -51, 41, 42, 50, 52, 55, 56, 60}) {
    CAPTURE(exponent);
    const float x = std::ldexp(1.0f, exponent);
    const device_buffer<float> memory(engine.queue(), std::vector<float>(count, x));
    // A power of two, so that every partial sum is exact: 40 · 65 536 = 5 · 2^19 terms.
    const inspection result = inspect(engine, {memory.data(), count});
    CHECK(result.norm() == std::sqrt(std::ldexp(5.0, 19 + 2 * exponent)));
    const bool is_in_range = 19 + 2 * exponent + 2 < 127 && 19 + 2 * exponent > -126;
    if (is_in_range) CHECK(result.squares_exponent == 0);
  }
}

TEST_CASE("ranks with sums of any size agree on a norm") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar max_norm(engine, 1.0f);
  // The other rank's gradients are this rank's times 1, 2^±70 or 2^-140: it is replayed from a scaler of its own.
  for (const auto& [mine, other] : {std::pair{0, 0},
                                    {70, 70},
                                    {-70, -70},
                                    {70, 0},
                                    {0, 70},
                                    {-70, 0},
                                    {70, -70},
                                    {62, 62},
                                    {-62, -62},
                                    {127, 127}}) {
    CAPTURE(mine, other);
    std::vector<float> numbers_of_other;
    const auto run = [&](int exponent, const decltype(consensus::sum)& hook) {
      const device_buffer<float> gradients(engine.queue(), values_near(exponent, 1'000, 9));
      const tensor_list list(engine, {{gradients.data(), 1'000}});
      loss_scaler scaler(engine, {.mode = scaling_mode::fixed, .init_scale = 0x1p40f, .max = 0x1p127f},
                         {.consensus = {.sum = hook}});
      scaler.begin_step();
      scaler.inspect(list, {.max_norm = max_norm});
      scaler.update();
      return scaler.outcome();
    };
    run(other, [&](sycl::queue& queue, float* numbers, std::size_t count) {
      numbers_of_other.resize(count);
      queue.memcpy(numbers_of_other.data(), numbers, count * sizeof(float)).wait();
    });
    const step_record record = run(mine, [&](sycl::queue& queue, float* numbers, std::size_t count) {
      std::vector<float> sums(count);
      queue.memcpy(sums.data(), numbers, count * sizeof(float)).wait();
      for (std::size_t i = 0; i < count; ++i) sums[i] += numbers_of_other[i];
      for (const float sum : sums) CHECK(std::isfinite(sum));
      queue.memcpy(numbers, sums.data(), count * sizeof(float)).wait();
    });
    const auto norm_near = [](int exponent) {
      double sum = 0;
      for (const float x : values_near(exponent, 1'000, 9)) sum += static_cast<double>(x) * static_cast<double>(x);
      return sum;
    };
    check_close(record.norm, std::sqrt(norm_near(mine) + norm_near(other)) * 0x1p-40);
  }
}

TEST_CASE("several scales: the norm over all of them stays in range") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar max_norm(engine, 1.0f);
  const device_buffer<float> a(engine.queue(), std::vector<float>(4, 0x1p100f)),
      b(engine.queue(), std::vector<float>(9, 0x1p100f));
  const tensor_list list(engine, {{a.data(), 4, "", 0}, {b.data(), 9, "", 1}});
  loss_scaler scaler(engine, {.mode = scaling_mode::fixed, .init_scale = 1.0f}, {.scales = 2});
  scaler.begin_step();
  scaler.inspect(list, {.max_norm = max_norm});
  scaler.update();
  check_close(scaler.outcome().norm, std::sqrt(13.0) * 0x1p100);
}

TEST_CASE("law 2: a finite gradient that unscaling would make infinite is an INF, also beside a NaN") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_scalar scale(engine, 0x1p-10f);
  for (const std::size_t place : {std::size_t{3}, std::size_t{100'000}}) {  // in the chunk of the NaN, and in another
    CAPTURE(place);
    std::vector<float> values(140'000, 1.0f);
    values[5] = no_number;
    values[place] = -0x1p120f;
    const device_buffer<float> memory(engine.queue(), values);
    const tensor_list list(engine, {{memory.data(), 70'000}, {memory.data() + 70'000, 70'000}});
    for (const inspection_level level : {inspection_level::list, inspection_level::tensors}) {
      const inspector inspector(list, level);
      inspector.run(scale);
      CHECK(inspector.result().flags == (found_inf | found_nan));
      CHECK(std::isnan(inspector.result().amax));
      CHECK(inspector.result().inf_count == 0);
      inspector.run();
      CHECK(inspector.result().flags == found_nan);
    }
    loss_scaler scaler(engine, {.mode = scaling_mode::fixed, .init_scale = 0x1p-10f, .min = 0x1p-20f});
    scaler.begin_step();
    scaler.unscale(list);  // in place: what is read again is no longer what was inspected
    scaler.update();
    CHECK(scaler.outcome().flags == (found_inf | found_nan));
    CHECK(scaler.outcome().outcome == step_outcome::skipped_inf);
    CHECK(scaler.outcome().inf_count == 0);
    CHECK(scaler.outcome().nan_count == 1);
  }
}
