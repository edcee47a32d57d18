// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/device/device_buffer.hpp"
#include "tests/device/devices.hpp"
#include "tests/device/formats.hpp"
#include "tests/reference/numbers.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr std::uint64_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 4095, 4097, 65536, 70'001};

/// Any bit pattern at all: subnormals, both infinities and NaNs among them.
template <typename Format>
std::vector<typename Format::bits> any_bits(std::uint64_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<typename Format::bits> data(count);
  for (auto& one : data) one = static_cast<typename Format::bits>(random());
  return data;
}

/// A list of tensors of all sizes in one piece of memory with canaries; odd offsets if not aligned.
template <typename Format>
struct tensors_of_all_sizes {
  using bits = typename Format::bits;

  tensors_of_all_sizes(const engine& on, std::uint32_t seed, std::size_t offset)
      : content(any_bits<Format>(total(), seed)), memory(on.queue(), content, offset), list(on, describe()) {}

  static std::uint64_t total() {
    std::uint64_t sum = 0;
    for (const auto size : sizes) sum += size + 3;  // gaps: what lies between the tensors must stay as it is
    return sum;
  }
  std::vector<tensor> describe() const {
    std::vector<tensor> tensors;
    std::uint64_t place = 0;
    for (const auto size : sizes) {
      tensors.push_back({{memory.data() + place, size, Format::type}});
      place += size + 3;
    }
    return tensors;
  }
  static bool in_gap(std::uint64_t index) {
    std::uint64_t place = 0;
    for (const auto size : sizes) {
      if (index < place + size) return false;
      if (index < place + size + 3) return true;
      place += size + 3;
    }
    return true;
  }

  std::vector<bits> content;
  device_buffer<bits> memory;
  tensor_list list;
};

struct device_scalar {
  device_scalar(const engine& on, float value) : memory(on.queue(), {value}) {}
  operator const float*() const { return memory.data(); }
  device_buffer<float> memory;
};

template <typename Format>
bool same_number(std::uint32_t a, std::uint32_t b) {
  const bool both_nan = reference::decode(a, Format::format).what == reference::kind::nan &&
                        reference::decode(b, Format::format).what == reference::kind::nan;
  return a == b || both_nan;
}

/// out = in · factor in exact arithmetic, rounded once to FP32 (a product of two FP32 numbers is exact in double) and
/// once more to the format of `out`.
template <typename In, typename Out>
void check_converted(const tensors_of_all_sizes<In>& in, const tensors_of_all_sizes<Out>& out, double factor) {
  const auto result = out.memory.read();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < result.size(); ++i) {
    const double exact = reference::decode(in.content[i], In::format).value * factor;
    const auto fp32 = reference::encode(exact, reference::binary32);
    const auto expected = tensors_of_all_sizes<In>::in_gap(i)
                              ? out.content[i]
                              : reference::encode(reference::decode(fp32, reference::binary32).value, Out::format);
    if (!same_number<Out>(result[i], expected)) ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(out.memory.canaries_are_alive());
}

}  // namespace

TEMPLATE_TEST_CASE("unscale divides by the scale, exactly, into FP32", "", float16, bfloat16, float32) {
  const engine& on = any_engine();
  const float by = GENERATE(1.0f, 65536.0f, 0x1p-14f, 0x1p126f, 0x1p127f);
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(on.profile_name(), by, offset);
  const tensors_of_all_sizes<TestType> in(on, 1, offset);
  const tensors_of_all_sizes<float32> out(on, 2, offset);
  const device_scalar scale_value(on, by);

  unscale(in.list, out.list, scale_value);
  on.wait();

  check_converted(in, out, 1.0 / static_cast<double>(by));
  CHECK(in.memory.read() == in.content);
}

TEMPLATE_TEST_CASE("cast rounds to nearest even between all types (D10)", "", float16, bfloat16, float32) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const tensors_of_all_sizes<TestType> in(on, 3, 0);
  const tensors_of_all_sizes<float16> to16(on, 4, 0);
  const tensors_of_all_sizes<bfloat16> to_brain(on, 5, 1);
  const tensors_of_all_sizes<float32> to32(on, 6, 0);

  cast(in.list, to16.list);
  cast(in.list, to_brain.list);
  cast(in.list, to32.list);
  on.wait();

  check_converted(in, to16, 1.0);
  check_converted(in, to_brain, 1.0);
  check_converted(in, to32, 1.0);
}

TEST_CASE("every FP16 and BF16 number survives the way to FP32 and back") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  const device_buffer<std::uint16_t> in(on.queue(), all), back(on.queue(), std::vector<std::uint16_t>(65536));
  const device_buffer<std::uint32_t> wide(on.queue(), std::vector<std::uint32_t>(65536));
  const tensor_list middle(on, array_view(wide.data(), 65536, element_type::float32));

  for (const element_type type : {element_type::float16, element_type::bfloat16}) {
    cast(tensor_list(on, array_view(in.data(), 65536, type)), middle);
    cast(middle, tensor_list(on, array_view(back.data(), 65536, type)));
    on.wait();

    const auto result = back.read();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!(type == element_type::float16 ? same_number<float16>(all[i], result[i])
                                          : same_number<bfloat16>(all[i], result[i])))
        ++wrong;
    CHECK(wrong == 0);
  }
}

TEST_CASE("the smallest FP16 gradient, scaled and unscaled, is still there (law 7)") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const float tiny = 0x1p-24f;  // 5.96e-8
  const device_buffer<float> loss(on.queue(), {tiny * 0x1p-10f, 1.0f});
  const device_buffer<std::uint16_t> scaled(on.queue(), {0, 0});
  const device_buffer<float> unscaled(on.queue(), {0.0f, 0.0f});
  const tensor_list wide(on, array_view(loss.data(), 2)), half(on, array_view(scaled.data(), 2, element_type::float16)),
      out(on, array_view(unscaled.data(), 2));
  const device_scalar s(on, 1024.0f);

  scale(wide, half, s);
  unscale(half, out, s);
  on.wait();

  CHECK(scaled.read()[0] == 0x0001);
  CHECK(unscaled.read()[0] == tiny * 0x1p-10f);
}

TEMPLATE_TEST_CASE("scaling in place keeps the type and rounds once", "", float16, bfloat16, float32) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const tensors_of_all_sizes<TestType> data(on, 7, 1);
  const device_scalar by(on, 8.0f);

  scale(data.list, data.list, by);
  on.wait();

  check_converted(data, data, 8.0);
}

TEMPLATE_TEST_CASE("accumulate adds in FP32, each time with its own scale", "", float16, bfloat16, float32) {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const tensors_of_all_sizes<TestType> in(on, 8, 0);
  const device_buffer<float> sum(on.queue(), std::vector<float>(70'001, 0.25f));
  const tensor_list last_in(on, array_view(in.list[14])), last_out(on, array_view(sum.data(), 70'001));
  const device_scalar first(on, 4.0f), second(on, 65536.0f);

  accumulate(last_in, last_out, first);
  accumulate(last_in, last_out, second);
  on.wait();

  const auto result = sum.read();
  const std::uint64_t start = in.content.size() - 70'001 - 3;
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto x = reference::decode(in.content[start + i], TestType::format).value;
    const auto rounded = [](double v) {
      return reference::decode(reference::encode(v, reference::binary32), reference::binary32).value;
    };
    const double once = rounded(0.25 + rounded(x / 4.0)), twice = rounded(once + rounded(x / 65536.0));
    if (!same_number<float32>(std::bit_cast<std::uint32_t>(result[i]), reference::encode(twice, reference::binary32)))
      ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(sum.canaries_are_alive());
}

TEST_CASE("a bad micro-batch is dropped as a whole, and cleared only if it is bad") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  std::vector<float> values(70'000, 2.0f);
  const device_buffer<float> good(on.queue(), values), sum(on.queue(), std::vector<float>(70'000, 1.0f));
  values[69'999] = std::numeric_limits<float>::infinity();
  const device_buffer<float> bad(on.queue(), values);
  const tensor_list good_list(on, array_view(good.data(), 70'000)), bad_list(on, array_view(bad.data(), 70'000)),
      sum_list(on, array_view(sum.data(), 70'000));
  const inspector look_good(good_list), look_bad(bad_list);
  const device_scalar s(on, 2.0f);

  look_good();
  accumulate(good_list, sum_list, s, look_good.device_result());
  look_bad();
  accumulate(bad_list, sum_list, s, look_bad.device_result());
  clear(bad_list, look_bad.device_result());
  clear(good_list, look_good.device_result());
  on.wait();

  CHECK(sum.read() == std::vector<float>(70'000, 2.0f));
  CHECK(bad.read() == std::vector<float>(70'000, 0.0f));
  CHECK(good.read() == std::vector<float>(70'000, 2.0f));
}

TEMPLATE_TEST_CASE("clear writes zeros into the tensors and nowhere else", "", float16, bfloat16, float32) {
  const engine& on = any_engine();
  const std::size_t offset = GENERATE(0, 1);
  CAPTURE(on.profile_name(), offset);
  const tensors_of_all_sizes<TestType> data(on, 9, offset);

  clear(data.list);
  on.wait();

  const auto result = data.memory.read();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < result.size(); ++i)
    if (result[i] != (tensors_of_all_sizes<TestType>::in_gap(i) ? data.content[i] : 0)) ++wrong;
  CHECK(wrong == 0);
  CHECK(data.memory.canaries_are_alive());
}

TEST_CASE("clipping brings the norm of the unscaled gradients down to the limit, and leaves small ones alone") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const std::vector<float> scaled = {3.0f * 1024, -4.0f * 1024, 0.0f};  // norm 5 after unscaling
  const device_buffer<float> memory(on.queue(), scaled), unscaled(on.queue(), std::vector<float>(3));
  const device_buffer<clip_result> result(on.queue(), std::vector<clip_result>(1));
  const tensor_list in(on, array_view(memory.data(), 3)), out(on, array_view(unscaled.data(), 3));
  const inspector look(in);
  const device_scalar s(on, 1024.0f), limit(on, 2.5f), far(on, 100.0f);

  look();
  unscale(in, out, s);
  clip_coefficient(on, look.device_result(), s, far, result.data());
  clip(out, result.data());
  on.wait();
  CHECK(result.read()[0].norm == 5.0f);
  CHECK(result.read()[0].coefficient == 1.0f);
  CHECK(unscaled.read() == std::vector<float>{3.0f, -4.0f, 0.0f});

  clip_coefficient(on, look.device_result(), s, limit, result.data());
  clip(out, result.data());
  on.wait();
  const float coefficient = 2.5f / (5.0f + 1e-6f);
  CHECK(result.read()[0].coefficient == coefficient);
  CHECK(unscaled.read() == std::vector<float>{3.0f * coefficient, -4.0f * coefficient, 0.0f});
  CHECK(result.canaries_are_alive());
}

TEST_CASE("a norm that is not finite leaves gradients as they are (D15)") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> memory(on.queue(), std::vector<float>(8, 1e30f));
  const device_buffer<clip_result> result(on.queue(), std::vector<clip_result>(1));
  const tensor_list list(on, array_view(memory.data(), 8));
  const inspector look(list);
  const device_scalar limit(on, 1.0f);

  look();
  clip_coefficient(on, look.device_result(), nullptr, limit, result.data());
  on.wait();

  CHECK(look.result().all_finite());
  CHECK(result.read()[0].coefficient == 1.0f);
}

TEST_CASE("absent and empty tensors are left out on either side") {
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> a(on.queue(), {1.0f, 2.0f}), b(on.queue(), {7.0f, 8.0f});
  const float* absent = nullptr;

  cast(tensor_list(on, std::vector<tensor>{}), tensor_list(on, std::vector<tensor>{}));
  cast(tensor_list(on, {{{absent, 2}}, {{a.data(), 2}}}), tensor_list(on, {{{b.data(), 2}}, {{absent, 2}}}));
  on.wait();
  CHECK(b.read() == std::vector<float>{7.0f, 8.0f});
}

TEST_CASE("lists that do not fit are refused with the tensor's name and the remedy") {
  const engine& on = all_engines().front();
  const device_buffer<float> memory(on.queue(), std::vector<float>(100));
  const auto fp32 = [&](std::uint64_t at, std::uint64_t count) {
    return tensor_list(on, {{{memory.data() + at, count}, "weight"}});
  };
  const auto fp16 = [&](std::uint64_t count) {
    return tensor_list(on, {{{memory.data() + 50, count, element_type::float16}, "bias"}});
  };
  const device_scalar s(on, 2.0f);

  CHECK_THROWS_MATCHES(unscale(fp32(0, 10), fp16(10), s), invalid_argument,
                       MessageMatches(ContainsSubstring("bias") && ContainsSubstring("unscale_lossy")));
  CHECK_NOTHROW(unscale_lossy(fp32(0, 10), fp16(10), s));
  CHECK_THROWS_MATCHES(cast(fp32(0, 10), fp32(20, 11)), invalid_argument, MessageMatches(ContainsSubstring("11")));
  CHECK_THROWS_MATCHES(cast(fp32(0, 10), tensor_list(on, std::vector<tensor>{})), invalid_argument,
                       MessageMatches(ContainsSubstring("tensors")));
  CHECK_THROWS_MATCHES(cast(fp32(0, 10), fp32(5, 10)), invalid_argument, MessageMatches(ContainsSubstring("overlaps")));
  CHECK_THROWS_MATCHES(cast(fp32(48, 10), fp16(10)), invalid_argument, MessageMatches(ContainsSubstring("overlaps")));
  CHECK_THROWS_MATCHES(clip(fp16(10), nullptr), invalid_argument, MessageMatches(ContainsSubstring("unscale")));
  CHECK_THROWS_MATCHES(accumulate(fp32(0, 10), fp16(10), s), invalid_argument,
                       MessageMatches(ContainsSubstring("float32")));
  on.wait();
}
