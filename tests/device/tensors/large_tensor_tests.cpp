// SPDX-License-Identifier: Apache-2.0
// Tensors of more than 2^32 bytes, and lists of more than 2^32 elements. framework_defects_tests.cpp has one tensor of
// more than 2^32 elements.
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "sycl_kernels/shared/layout.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sparse_memory.hpp"

using namespace syclamp;

namespace {

constexpr std::uint16_t half_of_3 = 0x4200, half_infinity = 0x7c00, half_of_minus_2 = 0xc000;

/// The host's memory is the device's.
void need_system_memory(const engine& engine) {
  if (!engine.queue().get_device().has(sycl::aspect::usm_system_allocations))
    SKIP("the device cannot read the host's memory, of which a range without memory behind it can be had");
}

}  // namespace

TEST_CASE("chunks are counted in 32 bits up to the largest list") {
  static_assert(kernels::max_elements > std::uint64_t{1} << 40);
  CHECK(kernels::chunks_of(kernels::max_elements) == std::uint64_t{1} << 31);
  CHECK(kernels::chunks_of((std::uint64_t{1} << 32) + 1) == 65'537);
  CHECK(kernels::chunks_of((std::uint64_t{1} << 32) - 1) == 65'536);
  CHECK(std::uint64_t{kernels::chunks_of(kernels::max_elements)} * kernels::chunk_elements == kernels::max_elements);
}

TEST_CASE("elements behind 2^33 absent ones are inspected, unscaled and cast", "[limits]") {
  // Absent tensors take indices and no memory, so the kernels compute with indices that need 34 bits.
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  constexpr std::uint64_t absent = (std::uint64_t{1} << 33) + 77, count = 70'000;
  std::vector<std::uint16_t> values(count, half_of_3);
  values[65'000] = half_infinity;
  values[count - 1] = half_of_minus_2;
  const device_buffer<std::uint16_t> in(engine.queue(), values),
      copy(engine.queue(), std::vector<std::uint16_t>(count));
  const device_buffer<float> out(engine.queue(), std::vector<float>(count, 9.0f));
  const auto list_of = [&](array_view last) {
    const array_view nothing(static_cast<void*>(nullptr), absent, last.type());
    return tensor_list(engine, std::vector<tensor>{{nothing, absent, "absent"}, {last, count, "last"}});
  };
  const tensor_list gradients = list_of(array_view(in.data(), count, element_type::float16));
  const inspector inspector(gradients, inspection_level::tensors);

  inspector.run();
  unscale(gradients, list_of(array_view(out.data(), count)), scalar(2.0f));
  cast(gradients, list_of(array_view(copy.data(), count, element_type::bfloat16)));
  engine.wait();

  const inspection result = inspector.result();
  CHECK(result.elements == count);
  CHECK(result.inf_count == 1);
  CHECK(result.first_nonfinite_tensor == 1);
  CHECK(result.first_nonfinite == 65'000);
  CHECK(inspector.tensors()[0].elements == 0);
  CHECK(inspector.tensors()[1].elements == count);
  const std::vector<float> unscaled = out.read();
  const std::vector<std::uint16_t> converted = copy.read();
  for (const std::size_t i : {std::size_t{0}, std::size_t{64'999}, std::size_t{count - 2}}) {
    CHECK(unscaled[i] == 1.5f);
    CHECK(converted[i] == 0x4040);  // 3 in BF16
  }
  CHECK(unscaled[count - 1] == -1.0f);
  CHECK(converted[count - 1] == 0xc000);
  CHECK(in.canaries_are_alive());
  CHECK(out.canaries_are_alive());
  CHECK(copy.canaries_are_alive());
}

TEST_CASE("a tensor of more than 2^32 bytes is inspected, unscaled and cast to the last element", "[limits]") {
  const engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  need_system_memory(engine);
  constexpr std::uint64_t count = (std::uint64_t{1} << 31) + 12'345;  // FP16: 24 690 bytes more than 2^32
  const zero_memory memory(count * sizeof(std::uint16_t));
  auto* gradients = memory.as<std::uint16_t>();
  gradients[count - 1] = half_of_3;
  gradients[count - 12'345] = half_of_minus_2;  // the first one behind 2^32 bytes
  gradients[count - 2] = half_infinity;
  const tensor_list list(engine, array_view(gradients, count, element_type::float16));
  const inspector inspector(list);

  inspector.run();

  const inspection result = inspector.result();
  CHECK(result.elements == count);
  CHECK(result.zero_count == count - 3);
  CHECK(result.inf_count == 1);
  CHECK(result.first_nonfinite == count - 2);
  if (engine.profile_name() != "cpu") return;  // the profiles for GPUs take minutes to write so much on a CPU

  const folded_memory unscaled(count * sizeof(float)), converted(count * sizeof(std::uint16_t));
  unscale(list, tensor_list(engine, array_view(unscaled.as<float>(), count)), scalar(4.0f));
  cast(list, tensor_list(engine, array_view(converted.as<std::uint16_t>(), count, element_type::bfloat16)));
  engine.wait();
  CHECK(unscaled.as<float>()[count - 1] == 0.75f);
  CHECK(unscaled.as<float>()[count - 12'345] == -0.5f);
  CHECK(unscaled.as<float>()[count - 2] == std::numeric_limits<float>::infinity());
  CHECK(unscaled.as<float>()[count - 3] == 0.0f);
  CHECK(unscaled.is_repeated_block_zero());  // nothing was written 2^32 bytes too low
  CHECK(converted.as<std::uint16_t>()[count - 1] == 0x4040);
  CHECK(converted.as<std::uint16_t>()[count - 12'345] == 0xc000);
  CHECK(converted.as<std::uint16_t>()[count - 3] == 0);
  CHECK(converted.is_repeated_block_zero());
}
