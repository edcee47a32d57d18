// SPDX-License-Identifier: Apache-2.0
// Defects that other frameworks have or had. docs/frameworks.md explains each by its number, D1 to D25.
// A test fails if the library works as they do.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "syclamp/syclamp.hpp"
#include "tests/reference/random.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/tensors.hpp"

using namespace syclamp;

TEST_CASE("D2: any finding means skip, not just the value 1") {
  // PyTorch's fused kernels skip if found_inf == 1; two devices that overflow make it 2.
  const engine& on = any_engine();
  const std::uint32_t flags =
      GENERATE(found_inf + 0u, found_nan + 0u, found_inf | found_nan, found_by_user + 0u, 0x80000000u);
  CAPTURE(on.profile_name(), flags);
  inspection bad;
  bad.flags = flags;
  const device_buffer<inspection> seen(on.queue(), {bad});
  const device_buffer<float> gradient(on.queue(), {1.0f}), sum(on.queue(), {5.0f});
  const tensor_list in(on, array_view(gradient.data(), 1)), out(on, array_view(sum.data(), 1));
  const device_scalar scale(on, 1.0f);

  accumulate(in, out, scale, seen.data());
  clear(in, seen.data());
  on.wait();

  CHECK(sum.read()[0] == 5.0f);
  CHECK(gradient.read()[0] == 0.0f);
}

TEST_CASE("D4: finite gradients that a tiny scale turns into Inf are an overflow") {
  // PyTorch tests the scaled value only, then multiplies by 1/scale.
  const engine& on = any_engine();
  const detail level = GENERATE(detail::list, detail::tensors);
  CAPTURE(on.profile_name());
  const device_buffer<float> memory(on.queue(), {1024.0f, 1.0f});
  const inspector look(tensor_list(on, {{{memory.data() + 1, 1}}, {{memory.data(), 1}}}), level);
  const device_scalar tiny(on, 0x1p-120f), zero(on, 0.0f), fine(on, 0x1p-100f);

  look(tiny);
  CHECK(look.result().flags == found_inf);
  CHECK(look.result().infs == 0);  // none of them is Inf by itself
  if (level == detail::tensors) {
    CHECK(look.tensors()[0].all_finite());
    CHECK_FALSE(look.tensors()[1].all_finite());
  }
  // Not a power of two: the quotient would be finite, but the product with the rounded reciprocal is not.
  const device_buffer<float> edge(on.queue(), {0x1.c52746p+127f}), out(on.queue(), {0.0f});
  const device_scalar odd(on, 0x1.c52748p-1f);
  const tensor_list edge_list(on, array_view(edge.data(), 1));
  const inspector look_at_edge(edge_list, level);
  look_at_edge(odd);
  unscale(edge_list, tensor_list(on, array_view(out.data(), 1)), odd);
  CHECK(look_at_edge.result().all_finite() == std::isfinite(out.read()[0]));
  look(zero);
  CHECK_FALSE(look.result().all_finite());
  look(fine);
  CHECK(look.result().all_finite());
}

TEST_CASE("D6: a finite FP64 gradient above the range of FP32 is finite") {
  // PyTorch's CUDA kernel narrows to float first.
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<double> memory(on.queue(), {1.0, -1e300, std::numeric_limits<double>::denorm_min()});

  const inspection seen = inspect(on, {memory.data(), 3, element_type::float64});

  CHECK(seen.all_finite());
  CHECK(std::bit_cast<double>(seen.worst_bits) == 1e300);
  CHECK(norm(seen, norm_kind::l_infinity) == 1e300);
  CHECK(seen.subnormals == 1);
}

TEST_CASE("D7: a finding stays, whatever finite tensors of other types, groups or calls come after it") {
  // A port of PyTorch's kernel let the last group of a type clear the flag.
  const engine& on = any_engine();
  const std::uint32_t scales = GENERATE(1u, 3u);
  CAPTURE(on.profile_name(), scales);
  const device_buffer<std::uint16_t> bad(on.queue(), {0x3c00, 0x7c00});
  const device_buffer<float> good(on.queue(), std::vector<float>(100'000, 1.0f));
  const tensor_list mixed(on, {{{bad.data(), 2, element_type::float16}, "half", 0},
                               {{bad.data(), 1, element_type::bfloat16}, "brain", 1},
                               {{good.data(), 100'000}, "single", 2}}),
      clean(on, array_view(good.data(), 100'000));
  const inspector mixed_inspector(mixed, scales == 1 ? detail::list : detail::tensors);
  loss_scaler scaler(on, {.init = 1}, {.scales = scales});

  mixed_inspector();
  scaler.scaled_by_caller();
  scaler.inspect(mixed);
  scaler.inspect(clean);
  scaler.update();

  CHECK(mixed_inspector.result().flags == found_inf);
  CHECK(scaler.outcome().flags == found_inf);
  CHECK_FALSE(scaler.outcome().was_applied());
}

TEST_CASE("D10: unscaling FP16 and BF16 is FP32 arithmetic, rounded once") {
  // A Metal kernel took 1/scale as FP16, where 2^-16 is subnormal and 2^-25 is zero.
  const engine& on = any_engine();
  const auto type = GENERATE(element_type::float16, element_type::bfloat16);
  CAPTURE(on.profile_name(), name_of(type));
  const std::uint16_t one_and_a_bit = type == element_type::float16 ? 0x3c01 : 0x3f81;
  const device_buffer<std::uint16_t> memory(on.queue(), {one_and_a_bit, 0x0001});
  const device_buffer<float> out(on.queue(), {0.0f, 0.0f});
  const device_scalar scale(on, 0x1p25f);

  unscale(tensor_list(on, array_view(memory.data(), 2, type)), tensor_list(on, array_view(out.data(), 2)), scale);
  on.wait();

  const double first = reference::decode(one_and_a_bit, format_of(type)).value * 0x1p-25;
  const double second = reference::rounded_to_float(reference::decode(1, format_of(type)).value * 0x1p-25);
  CHECK(static_cast<double>(out.read()[0]) == first);
  CHECK(static_cast<double>(out.read()[1]) == second);
}

TEST_CASE("D15: large finite gradients are not an overflow, though their sum and their squares are") {
  // DeepSpeed and apex look at a sum, fairseq at a norm.
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const device_buffer<float> memory(on.queue(), std::vector<float>(1000, 3e38f));

  const inspection seen = inspect(on, {memory.data(), 1000});

  CHECK(seen.all_finite());
  CHECK(seen.amax == 3e38f);
}

TEST_CASE("D22: more than 2^32 elements are inspected and cast to the last") {
  // torch-xpu-ops keeps the number of elements in 32 bits.
  const engine& on = any_engine();
  CAPTURE(on.profile_name());
  const std::uint64_t count = (std::uint64_t{1} << 32) + 12'345;
  auto* data = static_cast<std::uint8_t*>(sycl::aligned_alloc_device(64, (count + 63) / 64 * 64, on.queue()));
  if (data == nullptr) SKIP("the device has not enough memory");
  constexpr std::uint64_t step = std::uint64_t{1} << 28;  // AdaptiveCpp's fill loses what is beyond 2^31 elements
  for (std::uint64_t i = 0; i < count; i += step) on.queue().memset(data + i, 0x3c, std::min(step, count - i));  // 1.0
  on.queue().memset(data + count - 1, 0x7c, 1);                                                                  // Inf
  on.queue().memset(data + (count - 5), 0x80, 1);

  const tensor_list list(on, array_view(data, count, element_type::float8_e5m2));
  const inspector look(list);
  look();
  const inspection seen = look.result();
  std::vector<std::uint8_t> last(6), expected = {0x3c, 0x80, 0x3c, 0x3c, 0x3c, 0x7c};
  if (on.profile_name() == "cpu") {  // minutes with the others, which are made for GPUs
    const device_scalar factor(on, 1.1f);
    cast(list, list, {.how = rounding::stochastic, .scales = factor, .seed = 5});
    on.queue().memcpy(last.data(), data + count - 6, 6).wait();
    for (std::uint64_t i = 0; i < 6; ++i) {
      const double x = reference::decode(expected[i], reference::e5m2).value * static_cast<double>(1.1f);
      expected[i] = static_cast<std::uint8_t>(reference::encode_at_random(
          static_cast<float>(x), reference::e5m2, reference::random_word(5, 0, 0, count - 6 + i)));
    }
  }
  sycl::free(data, on.queue());

  CHECK(seen.elements == count);
  CHECK(seen.first_bad == count - 1);
  CHECK(seen.infs == 1);
  CHECK(seen.zeros == 1);
  if (on.profile_name() == "cpu") CHECK(last == expected);
}

TEST_CASE("D23: nothing is lost when every work-item finds something at once") {
  // The others store a flag from all threads without an atomic: undefined, and it could never count.
  const engine& on = any_engine();
  const detail level = GENERATE(detail::list, detail::histogram);
  CAPTURE(on.profile_name());
  const std::uint64_t count = 40 * 65536 + 17;
  const device_buffer<std::uint16_t> memory(on.queue(), std::vector<std::uint16_t>(count, 0xfc00));
  const inspector look(tensor_list(on, array_view(memory.data(), count, element_type::float16)), level);

  for (int i = 0; i < 3; ++i) {
    look();
    CHECK(look.result().infs == count);
    CHECK(look.result().first_bad == 0);
    if (level == detail::histogram) CHECK(look.histogram().counts[255] == count);
  }
}
