// SPDX-License-Identifier: Apache-2.0
// Which memory is accepted: every kind that the device can follow.
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tensors/address_checks.hpp"
#include "tests/support/devices.hpp"

using namespace syclamp;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

namespace {

constexpr std::size_t count = 4096;

struct memory_kind {
  const char* name;
  sycl::aspect needed;
  std::function<std::shared_ptr<float>(const sycl::queue&)> allocate;
};

std::shared_ptr<float> usm(const sycl::queue& queue, sycl::usm::alloc kind) {
  return {sycl::malloc<float>(count, queue, kind), [queue](float* memory) { sycl::free(memory, queue); }};
}

const memory_kind kinds[] = {
    {"device", sycl::aspect::usm_device_allocations,
     [](const sycl::queue& queue) { return usm(queue, sycl::usm::alloc::device); }},
    {"shared", sycl::aspect::usm_shared_allocations,
     [](const sycl::queue& queue) { return usm(queue, sycl::usm::alloc::shared); }},
    {"host", sycl::aspect::usm_host_allocations,
     [](const sycl::queue& queue) { return usm(queue, sycl::usm::alloc::host); }},
    {"system", sycl::aspect::usm_system_allocations,
     [](const sycl::queue&) {
       return std::shared_ptr<float>(static_cast<float*>(std::malloc(count * sizeof(float))), std::free);
     }},
};

}  // namespace

TEST_CASE("device, shared, host and system memory are read and written") {
  const engine engine;
  for (const memory_kind& kind : kinds) {
    INFO(kind.name);
    if (!engine.queue().get_device().has(kind.needed)) continue;
    const std::shared_ptr<float> in = kind.allocate(engine.queue()), out = kind.allocate(engine.queue());
    const std::vector<float> content(count, 3.0f);
    engine.queue().memcpy(in.get(), content.data(), count * sizeof(float)).wait();
    const tensor_list list(engine, array_view(in.get(), count)), scaled(engine, array_view(out.get(), count));
    CHECK(inspect(engine, array_view(in.get(), count)).sum_of_squares == 9.0f * count);
    scale(list, scaled, 2.0f);
    std::vector<float> result(count);
    engine.queue().memcpy(result.data(), out.get(), count * sizeof(float)).wait();
    CHECK(result == std::vector<float>(count, 6.0f));
  }
}

TEST_CASE("memory of another context is refused by name, where it can be told from system memory") {
  const engine engine;
  const sycl::device device = engine.queue().get_device();
  const sycl::queue elsewhere{sycl::context(device), device};
  address_checks checks(engine.queue(), 1, false);
  for (const memory_kind& kind : kinds) {
    INFO(kind.name);
    if (!device.has(kind.needed)) continue;
    const std::shared_ptr<float> own = kind.allocate(engine.queue()), other = kind.allocate(elsewhere);
    const auto ask = [&](const std::shared_ptr<float>& memory) {
      checks.ask(7, "bias", reinterpret_cast<std::uintptr_t>(memory.get()));
    };
    const auto refused = MessageMatches(ContainsSubstring("tensor 7 (\"bias\"): its address"));
    CHECK_THROWS_MATCHES(ask(other), invalid_argument, refused);
    if (kind.needed == sycl::aspect::usm_system_allocations)
      CHECK_THROWS_MATCHES(ask(own), invalid_argument, refused);
    else
      CHECK_NOTHROW(ask(own));
  }
}
