// SPDX-License-Identifier: Apache-2.0
// A device that fails is heard of as an error of this library, at the call or at the next one, and ends no program.
#include <atomic>
#include <optional>
#include <stdexcept>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "launch/kernel_library.hpp"
#include "launch/operations.hpp"
#include "syclamp/syclamp.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

/// Work that fails after it was submitted, as a device does.
void submit_failure(sycl::queue& queue, const char* words = "the device has caught fire") {
  queue.submit([&](sycl::handler& handler) { handler.host_task([words] { throw std::runtime_error(words); }); });
}

}  // namespace

TEST_CASE("a copy that the runtime refuses is a device_error with a remedy") {
  const engine engine;
  device_array<float> array(engine, 4);

  CHECK_THROWS_MATCHES(array.upload(std::span<const float>(static_cast<const float*>(nullptr), 4)), device_error,
                       MessageMatches(ContainsSubstring("copy: the device reported") && ContainsSubstring("address")));
  array.upload(std::vector<float>{1, 2, 3, 4});
  CHECK(array.to_vector() == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("an allocation that cannot be is an out_of_memory_error") {
  const engine engine;

  CHECK_THROWS_MATCHES(device_array<float>(engine, std::uint64_t{1} << 58), out_of_memory_error,
                       MessageMatches(ContainsSubstring("free device memory")));
  CHECK_THROWS_MATCHES(device_array<double>(engine, ~std::uint64_t{0}), out_of_memory_error,
                       MessageMatches(ContainsSubstring("exceeds the address space")));
}

TEST_CASE("a kernel that the runtime refuses is a device_error with the kernel's name") {
  const engine engine;

  CHECK_THROWS_MATCHES(
      engine.kernels().submit(engine.queue(), launch::self_test, std::uint64_t{1} << 60, nullptr, nullptr),
      device_error, MessageMatches(ContainsSubstring("self_test: the device reported")));
}

TEST_CASE("a fault of earlier work is thrown by the wait, once, and the engine stays usable") {
  const engine engine;
  submit_failure(engine.queue());

  CHECK_THROWS_MATCHES(engine.wait(), device_error,
                       MessageMatches(ContainsSubstring("caught fire") && ContainsSubstring("checkpoint")));
  CHECK_NOTHROW(engine.wait());
}

TEST_CASE("a fault of earlier work comes with the next call, whichever it is") {
  const engine engine;
  const device_array<float> array(engine, 4, 1.0f);
  sycl::queue& queue = engine.queue();
  submit_failure(queue);
  queue.wait();  // of SYCL: nothing is thrown

  SECTION("an operation") { CHECK_THROWS_AS(inspect(engine, array), device_error); }
  SECTION("a new object") { CHECK_THROWS_AS(loss_scaler(engine), device_error); }
  SECTION("a copy") { CHECK_THROWS_AS(array.to_vector(), device_error); }
  SECTION("the queue") { CHECK_THROWS_AS(engine.queue(), device_error); }
  CHECK(inspect(engine, array).sum_of_squares == 4.0f);
}

TEST_CASE("several faults are one error that counts them") {
  const engine engine;
  sycl::queue& queue = engine.queue();
  submit_failure(queue, "the first");
  queue.wait();
  submit_failure(queue, "the second");

  CHECK_THROWS_MATCHES(engine.wait(), device_error, MessageMatches(ContainsSubstring("\"the first\" (and 1 more)")));
}

TEST_CASE("objects can be destroyed after a fault that nobody has heard of") {
  std::optional<engine> engine(std::in_place);
  std::optional<device_array<float>> array(std::in_place, *engine, 4, 1.0f);
  std::optional<loss_scaler> scaler(std::in_place, *engine);
  std::optional<tensor_list> list(std::in_place, *engine, *array);
  submit_failure(engine->queue());

  engine.reset();
  scaler.reset();
  list.reset();
  CHECK_NOTHROW(array.reset());  // a handler that is not there would end the program
}

TEST_CASE("a caller's queue keeps its handler, and what that throws of SYCL's becomes ours") {
  std::atomic<int> heard = 0;
  sycl::queue queue(
      [&](const sycl::exception_list& faults) {
        ++heard;
        for (const std::exception_ptr& fault : faults) std::rethrow_exception(fault);
      },
      sycl::property::queue::in_order{});
  const engine engine(queue);
  queue.submit([](sycl::handler& handler) {
    handler.host_task([] { throw sycl::exception(sycl::make_error_code(sycl::errc::runtime), "lost"); });
  });

  CHECK_THROWS_MATCHES(engine.wait(), device_error, MessageMatches(ContainsSubstring("\"lost\"")));
  CHECK(heard == 1);
}
