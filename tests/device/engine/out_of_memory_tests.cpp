// SPDX-License-Identifier: Apache-2.0
// A device without enough memory: the error says how much was asked for, and everything that exists stays usable.
#include <cstdint>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "engine/device_memory.hpp"
#include "sycl_kernels/shared/layout.hpp"
#include "tests/support/device_buffer.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;
using Catch::Matchers::Matches;
using Catch::Matchers::MessageMatches;

namespace {

constexpr std::size_t elements = 100'000;

/// A training that must continue after something else could not be allocated.
struct training {
  explicit training(const syclamp::engine& engine)
      : engine(engine),
        gradients(engine.queue(), std::vector<float>(elements, 16.0f)),
        weights(engine.queue(), std::vector<float>(elements, 1.0f)),
        optimizer(engine, {{.gradient = {gradients.data(), elements}, .model = {weights.data(), elements}}},
                  sgd{.lr = 0.25}),
        scaler(engine, {.init_scale = 16}) {}

  /// Each step subtracts 0.25 from each weight.
  void step() {
    scaler.begin_step();
    scaler.step(optimizer);
    scaler.update();
  }

  syclamp::engine engine;
  device_buffer<float> gradients, weights;
  fused_optimizer optimizer;
  loss_scaler scaler;
};

auto names_bytes() { return MessageMatches(Matches(".*cannot allocate [0-9]+ bytes; free device memory.*")); }

}  // namespace

TEST_CASE("after an allocation that fails, engine, list, optimizer and scaler still work", "[limits]") {
  const syclamp::engine& engine = any_engine();
  CAPTURE(engine.profile_name());
  // More than any device has. Absent tensors need no memory themselves, but their statistics do.
  const std::uint64_t room = engine.queue().get_device().get_info<sycl::info::device::global_mem_size>();
  constexpr std::uint64_t largest = kernels::max_elements;
  REQUIRE(kernels::chunks_of(largest) * sizeof(kernels::chunk_statistics) > room);
  training run(engine);
  run.step();
  engine.wait();
  const std::uint64_t arrays = live_arrays_counter();
  const tensor_list absent(engine, std::vector<tensor>{{array_view(static_cast<float*>(nullptr), largest), largest}});
  const std::uint64_t arrays_of_list = live_arrays_counter() - arrays;

  SECTION("an array") {
    CHECK_THROWS_MATCHES(device_array<float>(engine, 4 * room), out_of_memory_error, names_bytes());
  }
  SECTION("an inspector") { CHECK_THROWS_MATCHES(inspector(absent), out_of_memory_error, names_bytes()); }
  SECTION("memory of the scaler for a list") {
    CHECK_THROWS_MATCHES(run.scaler.prepare(absent), out_of_memory_error, names_bytes());
  }
  SECTION("an optimizer") {
    const std::vector<parameter> parameters = {
        {.gradient = {static_cast<float*>(nullptr), largest}, .model = {run.weights.data(), largest}}};
    CHECK_THROWS_MATCHES(fused_optimizer(engine, parameters, adamw{}), out_of_memory_error, names_bytes());
  }

  CHECK(live_arrays_counter() - arrays == arrays_of_list);  // what was allocated before the failure is free again
  run.step();
  engine.wait();
  CHECK(run.weights.read() == std::vector<float>(elements, 0.5f));
  CHECK(run.scaler.ledger().size() == 2);
  CHECK(inspect(engine, {run.gradients.data(), elements}).sum_of_squares == 256.0f * elements);
}
