// SPDX-License-Identifier: Apache-2.0
// Kernels that are handed a type they have no branch for, which the host never does: they leave everything as it is.
#include <cmath>
#include <cstdint>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;
using matrix::activation;

namespace {

constexpr element_type wrong_types[] = {element_type::float64, element_type::float8_e4m3,
                                        static_cast<element_type>(15)};

}  // namespace

TEST_CASE("an optimizer's step leaves weights alone whose gradients have a type that it does not know") {
  constexpr std::uint32_t count = 64;
  const engine& engine = any_engine();
  sycl::queue& queue = engine.queue();
  for (const element_type type : {element_type::float32, wrong_types[0], wrong_types[1], wrong_types[2]}) {
    CAPTURE(engine.profile_name(), static_cast<std::uint32_t>(type));
    const std::vector<float> before(count, 1.0f);
    const device_buffer<float> weights(queue, before);
    const device_buffer<double> gradients(queue, std::vector<double>(count, 3.0));
    const device_buffer<std::uint64_t> addresses(queue, {reinterpret_cast<std::uint64_t>(gradients.data())});
    const device_buffer<std::uint64_t> starts(queue, {0, count});
    const device_buffer<std::uint32_t> kinds(queue, {kernels::tensor_kind::encode(type, 0, 0)});
    kernels::parameter_slot slot{};
    slot.weights = reinterpret_cast<std::uint64_t>(weights.data());
    slot.state_type = element_type::float32;
    slot.storage = kernels::weight_storage::other;
    kernels::parameter_group group{};
    group.hyper.lr = 1.0f;
    const device_buffer<kernels::parameter_slot> slots(queue, {slot});
    const device_buffer<kernels::parameter_group> groups(queue, {group});
    const device_buffer<kernels::progress_slot> progress(queue, std::vector<kernels::progress_slot>(1));
    const device_buffer<kernels::optimizer_memory> memory(
        queue, {{1, 0, 0, 0, 0, 0, reinterpret_cast<std::uint64_t>(progress.data())}});
    const device_buffer<step_decision> decisions(queue, {step_decision{}});

    engine.kernels().submit(queue, launch::sgd_step, 1, addresses.data(), starts.data(), kinds.data(), 1, slots.data(),
                            groups.data(), memory.data(), decisions.data(), 0, nullptr);

    CHECK((weights.read() == before) == (type != element_type::float32));
  }
}

TEST_CASE("a matrix product writes nothing if one of its matrices has a type that it does not know") {
  constexpr std::uint32_t size = 4;
  const engine& engine = any_engine();
  sycl::queue& queue = engine.queue();
  const device_buffer<double> ones(queue, std::vector<double>(size * size, 1.0));
  const auto product = [&](element_type a, element_type b, element_type c) {
    const device_buffer<double> result(queue, std::vector<double>(size * size, 7.0));
    engine.kernels().submit(queue, launch::gemm_tiles, 1, ones.data(), a, size, 0, false, ones.data(), b, size, 0,
                            false, result.data(), c, size, 0, size, size, size, 1.0f, 0.0f, nullptr,
                            element_type::float32, activation::none);
    return result.read() == std::vector<double>(size * size, 7.0);
  };
  constexpr element_type good = element_type::float32;
  CHECK_FALSE(product(good, good, good));
  for (const element_type wrong : wrong_types) {
    CAPTURE(engine.profile_name(), static_cast<std::uint32_t>(wrong));
    CHECK(product(wrong, good, good));
    CHECK(product(good, wrong, good));
    CHECK(product(good, good, wrong));
  }
}

TEST_CASE("a layer writes nothing if one of its matrices has a type that it does not know") {
  constexpr std::uint32_t size = 8;
  const engine& engine = any_engine();
  sycl::queue& queue = engine.queue();
  const device_buffer<double> in(queue, std::vector<double>(size, 1.0));
  for (const element_type wrong : wrong_types) {
    CAPTURE(engine.profile_name(), static_cast<std::uint32_t>(wrong));
    const device_buffer<float> out(queue, std::vector<float>(2 * size, 7.0f));
    const auto activate = [&](element_type in_type, element_type out_type) {
      engine.kernels().submit(queue, launch::activate_rows, 1, in.data(), in_type, size, out.data(), out_type, size, 1,
                              size, nullptr, element_type::float32, activation::none);
    };
    activate(element_type::float32, wrong);
    activate(wrong, element_type::float32);
    CHECK(out.read() == std::vector<float>(2 * size, 7.0f));
    activate(element_type::float32, element_type::float32);
    CHECK(out.read() != std::vector<float>(2 * size, 7.0f));
  }
}

TEST_CASE("sums over rows are NaN if the matrix has a type that is not known, and are not written as one") {
  constexpr std::uint32_t size = 8;
  const engine& engine = any_engine();
  sycl::queue& queue = engine.queue();
  const device_buffer<double> in(queue, std::vector<double>(size, 1.0));
  for (const element_type wrong : wrong_types) {
    CAPTURE(engine.profile_name(), static_cast<std::uint32_t>(wrong));
    const device_buffer<float> out(queue, std::vector<float>(2 * size, 7.0f));
    const auto sum = [&](element_type in_type, element_type out_type) {
      engine.kernels().submit(queue, launch::sum_rows, size, in.data(), in_type, size, 1, size, out.data(), out_type);
    };
    sum(element_type::float32, wrong);
    CHECK(out.read() == std::vector<float>(2 * size, 7.0f));
    sum(wrong, element_type::float32);
    for (std::size_t i = 0; i < size; ++i) CHECK(std::isnan(out.read()[i]));
  }
}
