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

TEST_CASE("D2: any flag other than 0 means skip, not just the value 1") {
  // PyTorch's fused kernels skip if found_inf == 1; two devices that overflow make it 2.
  const engine& engine = any_engine();
  const std::uint32_t flags =
      GENERATE(found_inf + 0u, found_nan + 0u, found_inf | found_nan, found_by_user + 0u, 0x80000000u);
  CAPTURE(engine.profile_name(), flags);
  inspection bad;
  bad.flags = flags;
  const device_buffer<inspection> results(engine.queue(), {bad});
  const device_buffer<float> gradient(engine.queue(), {1.0f}), sum(engine.queue(), {5.0f});
  const tensor_list in(engine, array_view(gradient.data(), 1)), out(engine, array_view(sum.data(), 1));
  const device_scalar scale(engine, 1.0f);

  accumulate(in, out, scale, results.data());
  clear_gradients(in, results.data());
  engine.wait();

  CHECK(sum.read()[0] == 5.0f);
  CHECK(gradient.read()[0] == 0.0f);
}

TEST_CASE("D4: finite gradients that a tiny scale turns into Inf are an overflow") {
  // PyTorch tests the scaled value only, then multiplies by 1/scale.
  const engine& engine = any_engine();
  const inspection_level level = GENERATE(inspection_level::list, inspection_level::tensors);
  CAPTURE(engine.profile_name());
  const device_buffer<float> memory(engine.queue(), {1024.0f, 1.0f});
  const inspector inspector(tensor_list(engine, {{memory.data() + 1, 1}, {memory.data(), 1}}), level);
  const device_scalar tiny(engine, 0x1p-120f), zero(engine, 0.0f), fine(engine, 0x1p-100f);

  inspector.run(tiny);
  CHECK(inspector.result().flags == found_inf);
  CHECK(inspector.result().inf_count == 0);  // none of them is Inf by itself
  if (level == inspection_level::tensors) {
    CHECK(inspector.tensors()[0].all_finite());
    CHECK_FALSE(inspector.tensors()[1].all_finite());
  }
  // Not a power of two: the quotient would be finite, but the product with the rounded reciprocal is not.
  const device_buffer<float> edge(engine.queue(), {0x1.c52746p+127f}), out(engine.queue(), {0.0f});
  const device_scalar odd(engine, 0x1.c52748p-1f);
  const tensor_list edge_list(engine, array_view(edge.data(), 1));
  const syclamp::inspector edge_inspector(edge_list, level);
  edge_inspector.run(odd);
  unscale(edge_list, tensor_list(engine, array_view(out.data(), 1)), odd);
  CHECK(edge_inspector.result().all_finite() == std::isfinite(out.read()[0]));
  inspector.run(zero);
  CHECK_FALSE(inspector.result().all_finite());
  inspector.run(fine);
  CHECK(inspector.result().all_finite());
}

TEST_CASE("D6: a finite FP64 gradient above the range of FP32 is finite") {
  // PyTorch's CUDA kernel narrows to float first.
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<double> memory(engine.queue(), {1.0, -1e300, std::numeric_limits<double>::denorm_min()});

  const inspection result = inspect(engine, {memory.data(), 3, element_type::float64});

  CHECK(result.all_finite());
  CHECK(std::bit_cast<double>(result.amax_bits) == 1e300);
  CHECK(result.norm(norm_kind::l_infinity) == 1e300);
  CHECK(result.subnormal_count == 1);
}

TEST_CASE("D7: a flag stays set, whatever finite tensors of other types, groups or calls come after it") {
  // A port of PyTorch's kernel let the last group of a type clear the flag.
  const engine& engine = any_engine();
  const std::uint32_t scales = GENERATE(1u, 3u);
  CAPTURE(engine.profile_name(), scales);
  const device_buffer<std::uint16_t> bad(engine.queue(), {0x3c00, 0x7c00});
  const device_buffer<float> good(engine.queue(), std::vector<float>(100'000, 1.0f));
  const tensor_list mixed(engine, {{{bad.data(), element_type::float16}, 2, "half", 0},
                                   {{bad.data(), element_type::bfloat16}, 1, "bf16", 1},
                                   {good.data(), 100'000, "single", 2}}),
      clean(engine, array_view(good.data(), 100'000));
  const inspector mixed_inspector(mixed, scales == 1 ? inspection_level::list : inspection_level::tensors);
  loss_scaler scaler(engine, {.init_scale = 1}, {.scales = scales});

  mixed_inspector.run();
  scaler.begin_step();
  scaler.inspect(mixed);
  scaler.inspect(clean);
  scaler.update();

  CHECK(mixed_inspector.result().flags == found_inf);
  CHECK(scaler.outcome().flags == found_inf);
  CHECK_FALSE(scaler.outcome().was_applied());
}

TEST_CASE("D10: unscaling FP16 and BF16 is FP32 arithmetic, rounded once") {
  // A Metal kernel took 1/scale as FP16, where 2^-16 is subnormal and 2^-25 is zero.
  const engine& engine = any_engine();
  const auto type = GENERATE(element_type::float16, element_type::bfloat16);
  CAPTURE(engine.profile_name(), to_string(type));
  const std::uint16_t one_and_a_bit = type == element_type::float16 ? 0x3c01 : 0x3f81;
  const device_buffer<std::uint16_t> memory(engine.queue(), {one_and_a_bit, 0x0001});
  const device_buffer<float> out(engine.queue(), {0.0f, 0.0f});
  const device_scalar scale(engine, 0x1p25f);

  unscale(tensor_list(engine, array_view(memory.data(), 2, type)), tensor_list(engine, array_view(out.data(), 2)),
          scale);
  engine.wait();

  const double first = reference::decode(one_and_a_bit, format_of(type)).value * 0x1p-25;
  const double second = reference::rounded_to_float(reference::decode(1, format_of(type)).value * 0x1p-25);
  CHECK(static_cast<double>(out.read()[0]) == first);
  CHECK(static_cast<double>(out.read()[1]) == second);
}

TEST_CASE("D15: large finite gradients are not an overflow, though their sum and their squares are") {
  // DeepSpeed and apex look at a sum, fairseq at a norm.
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const device_buffer<float> memory(engine.queue(), std::vector<float>(1000, 3e38f));

  const inspection result = inspect(engine, {memory.data(), 1000});

  CHECK(result.all_finite());
  CHECK(result.amax == 3e38f);
}

TEST_CASE("D22: more than 2^32 elements are inspected and cast to the last") {
  // torch-xpu-ops keeps the number of elements in 32 bits.
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  const std::uint64_t count = (std::uint64_t{1} << 32) + 12'345;
  auto* data = static_cast<std::uint8_t*>(sycl::aligned_alloc_device(64, (count + 63) / 64 * 64, engine.queue()));
  if (data == nullptr) SKIP("the device has not enough memory");
  constexpr std::uint64_t step = std::uint64_t{1} << 28;  // AdaptiveCpp's fill ignores elements after 2^31
  for (std::uint64_t i = 0; i < count; i += step)
    engine.queue().memset(data + i, 0x3c, std::min(step, count - i));  // 1.0
  engine.queue().memset(data + count - 1, 0x7c, 1);                    // Inf
  engine.queue().memset(data + (count - 5), 0x80, 1);

  const tensor_list list(engine, array_view(data, count, element_type::float8_e5m2));
  const inspector inspector(list);
  inspector.run();
  const inspection result = inspector.result();
  std::vector<std::uint8_t> last(6), expected = {0x3c, 0x80, 0x3c, 0x3c, 0x3c, 0x7c};
  if (engine.profile_name() == "cpu") {  // minutes with the others, which are made for GPUs
    const device_scalar factor(engine, 1.1f);
    cast(list, list, {.rounding_mode = rounding::stochastic, .scales = factor, .seed = 5});
    engine.queue().memcpy(last.data(), data + count - 6, 6).wait();
    for (std::uint64_t i = 0; i < 6; ++i) {
      const double x = reference::decode(expected[i], reference::e5m2).value * static_cast<double>(1.1f);
      expected[i] = static_cast<std::uint8_t>(reference::encode_at_random(
          static_cast<float>(x), reference::e5m2, reference::random_word(5, 0, 0, count - 6 + i)));
    }
  }
  sycl::free(data, engine.queue());

  CHECK(result.elements == count);
  CHECK(result.first_nonfinite == count - 1);
  CHECK(result.inf_count == 1);
  CHECK(result.zero_count == 1);
  if (engine.profile_name() == "cpu") CHECK(last == expected);
}

TEST_CASE("D23: nothing is lost when every work-item finds something at once") {
  // The others store a flag from all threads without an atomic: undefined, and it could never count.
  const engine& engine = any_engine();
  const inspection_level level = GENERATE(inspection_level::list, inspection_level::histogram);
  CAPTURE(engine.profile_name());
  const std::uint64_t count = 40 * 65536 + 17;
  const device_buffer<std::uint16_t> memory(engine.queue(), std::vector<std::uint16_t>(count, 0xfc00));
  const inspector inspector(tensor_list(engine, array_view(memory.data(), count, element_type::float16)), level);

  for (int i = 0; i < 3; ++i) {
    inspector.run();
    CHECK(inspector.result().inf_count == count);
    CHECK(inspector.result().first_nonfinite == 0);
    if (level == inspection_level::histogram) CHECK(inspector.histogram().counts[255] == count);
  }
}
